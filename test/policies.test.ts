// Who is asked first, by the file alone: as the suppliers stand there, by weight, by price and by how fast they were.
// And that the guide to it says what is so.
import { afterEach, describe, expect, it } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REASON_TEXTS, REASON_WORDS } from '../src/routing/reason.ts'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { startGateway, type Gateway, type GatewayOptions } from './fakes/gateway.ts'
import { closeStreet, good, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MESSAGES = [{ role: 'user', content: 'Hello' }]

interface Entry {
  readonly script?: Script
  readonly price?: string
  /** Lines of the supplier. */
  readonly more?: string
  /** Of its model. */
  readonly own?: string
}

interface Town {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
}

/** Suppliers `s0`, `s1`, … of one model `m`. */
async function open(
  entries: readonly Entry[],
  rest = '',
  options: GatewayOptions = {},
): Promise<Town> {
  const suppliers = await Promise.all(
    entries.map(async ({ script = good }) => tidy(await startFakeSupplier(script))),
  )
  const lines = entries.map(
    ({ price = '{ input: 1, output: 1 }', more = '', own = '' }, index) => `  s${index}:
    kind: openai-compatible
    origin: ${suppliers[index]!.origin}/v1
    allow_private: true
    credential: \${KEY}${more === '' ? '' : `\n    ${more}`}
    models:
      m: { price: ${price}${own === '' ? '' : `, ${own}`} }
`,
  )
  const config = `suppliers:\n${lines.join('')}${rest}`
  const gateway = await startGateway({ config, environment: { KEY: SUPPLIER_CANARY }, ...options })
  return { gateway: tidy(gateway), suppliers }
}

async function ask({ gateway }: Town, changes: object = {}): Promise<string | null> {
  const response = await gateway.chat({ model: 'm', messages: MESSAGES, ...changes })
  await response.text()
  return response.headers.get('x-svc-supplier')
}

describe('the order', () => {
  it('is that of the file where nothing else is said', async () => {
    const town = await open([{ price: '{ input: 9, output: 9 }' }, {}])
    expect([await ask(town), await ask(town)]).toEqual(['s0', 's0'])
  })

  it('of one model may be another than that of all', async () => {
    const town = await open(
      [{ price: '{ input: 9, output: 9 }' }, {}],
      'routing: { policy: weight }\nmodels:\n  m: { policy: cheapest }\n',
      { draw: () => 0 },
    )
    expect(await ask(town)).toBe('s1')
  })
})

describe('by weight', () => {
  it('calls are shared out as the file says, each where chance puts it', async () => {
    const draws = [0, 0.5, 0.9, 0.94, 0.95, 0.99]
    let next = 0
    const town = await open(
      [{ more: 'weight: 95' }, { own: 'weight: 5' }],
      'routing: { policy: weight }\n',
      { draw: () => draws[next++ % draws.length]! },
    )
    const asked: (string | null)[] = []
    for (let index = 0; index < draws.length; index++) {
      next = index
      asked.push(await ask(town))
    }
    expect(asked).toEqual(['s0', 's0', 's0', 's0', 's1', 's1'])
  })

  it('whoever has none is asked when the others fail', async () => {
    const town = await open(
      [{ more: 'weight: 0' }, { script: refuse(500, {}) }],
      'routing: { policy: weight }\n',
    )
    expect(await ask(town)).toBe('s0')
    expect(town.suppliers.map(({ requests }) => requests.length)).toEqual([1, 1])
  })
})

describe('the cheapest', () => {
  const READS_CHEAPLY = { price: '{ input: 1, output: 40 }' }
  const WRITES_CHEAPLY = { price: '{ input: 4, output: 8 }' }

  it('is who is cheapest for what is asked', async () => {
    const town = await open([READS_CHEAPLY, WRITES_CHEAPLY], 'routing: { policy: cheapest }\n')
    const long = [{ role: 'user', content: 'word '.repeat(20_000) }]
    expect(await ask(town)).toBe('s1')
    expect(await ask(town, { messages: long })).toBe('s0')
    expect(await ask(town, { max_tokens: 1 })).toBe('s0')
  })

  it('gives way to the next one when it fails', async () => {
    const town = await open(
      [{ price: '{ input: 9, output: 9 }' }, { script: refuse(500, {}) }],
      'routing: { policy: cheapest }\n',
    )
    expect(await ask(town)).toBe('s0')
  })
})

describe('the fastest', () => {
  it('is who answered fastest of late, once everybody was asked', async () => {
    const clock: FakeClock = createFakeClock()
    const takes = [900, 100]
    const slowly =
      (index: number): Script =>
      (request, reply, count) => {
        clock.advance(takes[index]!)
        return good(request, reply, count)
      }
    const town = await open(
      [{ script: slowly(0) }, { script: slowly(1) }],
      'routing: { policy: fastest, infer_sessions: false }\n',
      { clock },
    )
    expect([await ask(town), await ask(town)]).toEqual(['s0', 's1'])
    expect([await ask(town), await ask(town)]).toEqual(['s1', 's1'])
    takes[1] = 60_000
    expect(await ask(town)).toBe('s1')
    expect(await ask(town)).toBe('s0')
  })
})

describe('the guide to routing', () => {
  const page = readFileSync(join(import.meta.dir, '..', 'docs/routing.md'), 'utf8')

  it('has every reason with its sentence', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map(([, word, text]) => [
      word,
      text,
    ])
    const told = REASON_WORDS.filter((word) => word !== 'listed')
    expect(rows.filter(([word]) => REASON_WORDS.some((each) => each === word))).toEqual(
      told.map((word) => [word, REASON_TEXTS[word]]),
    )
  })

  const files = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)

  it.each(files.map((text) => [text.split('\n', 1)[0] ?? '', text]))(
    'shows a file that starts: %s',
    async (_title, config) => {
      const names = [...config.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
      const environment = Object.fromEntries(names.map((name) => [name, SUPPLIER_CANARY]))
      const gateway = await startGateway({ config, environment })
      tidy(gateway)
      const response = await fetch(`${gateway.url}/health`)
      expect(response.status).toBe(200)
    },
  )
})
