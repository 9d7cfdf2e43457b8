// Whatever goes wrong once the caller has some of the answer: it hears of it in its own language, gets no false end,
// nobody else is asked, and the key pays for the input and for what was delivered.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  BODY,
  EXACT,
  IN,
  lastError,
  openScene,
  OUT,
  readOnly,
  SECOND,
  type CallRecord,
  type Scene,
} from '../fakes/fault.ts'
import { toNano } from '../fakes/prices.ts'
import { closeStreet, createGate, good, HI, readText, ROLE, STOP } from '../fakes/street.ts'
import {
  chunk,
  DONE,
  USAGE_CHUNK,
  type FakeReply,
  type FakeStream,
  type Script,
} from '../fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...BODY, stream: true }
const MEBIBYTE = 1_048_576
/** As the gateway counts for want of a supplier's word: four bytes a token, four a message. */
const INPUT_TOKENS = Math.ceil(JSON.stringify(STREAM).length / 4) + 4
/** Two bytes of text are one token. */
const DELIVERED = INPUT_TOKENS * IN + OUT

type Break = (reply: FakeReply, stream: FakeStream, clock: Scene['clock']) => void

interface Row {
  readonly id: string
  readonly name: string
  readonly breaks: Break
  /** Sent before it breaks, after the first content. */
  readonly before?: string
  readonly code: string
  readonly provider?: object
  readonly cost?: number
  readonly evidence?: string
  readonly isAbandoned?: true
}

const ROWS: readonly Row[] = [
  {
    id: 'S23',
    name: 'falls silent',
    breaks: (_, __, clock) => clock.advance(120 * SECOND),
    code: 'stream_interrupted',
    isAbandoned: true,
  },
  {
    id: 'S24',
    name: 'resets the connection',
    breaks: (reply) => reply.reset(),
    code: 'stream_interrupted',
  },
  {
    id: 'S25',
    name: 'ends without a reason to stop',
    breaks: (_, stream) => stream.end(),
    code: 'stream_interrupted',
  },
  {
    id: 'S25',
    name: 'sends its marker without a reason to stop',
    breaks: (_, stream) => stream.send(DONE),
    code: 'stream_interrupted',
    isAbandoned: true,
  },
  {
    id: 'S26',
    name: 'reports an error',
    breaks: (_, stream) =>
      stream.send('data: {"error":{"message":"sorry","code":"overloaded"}}\n\n'),
    code: 'stream_error',
    provider: { message: 'sorry', code: 'overloaded' },
    isAbandoned: true,
  },
  {
    id: 'S28',
    name: 'tells its usage and resets before the end',
    before: STOP + USAGE_CHUNK,
    breaks: (reply) => reply.reset(),
    code: 'stream_interrupted',
    cost: EXACT,
    evidence: 'reported',
  },
  {
    id: 'S28',
    name: 'tells its usage as it goes and resets before the reason to stop',
    before: USAGE_CHUNK,
    breaks: (reply) => reply.reset(),
    code: 'stream_interrupted',
    cost: EXACT,
  },
  {
    id: 'S33',
    name: 'sends an event that is no JSON',
    breaks: (_, stream) => stream.send('data: {"garbled\n\n'),
    code: 'stream_error',
    isAbandoned: true,
  },
  {
    id: 'S35',
    name: 'sends a line of 17 MiB',
    breaks: (_, stream) => {
      stream.send('data: ')
      for (let sent = 0; sent < 17; sent++) stream.send(Buffer.alloc(MEBIBYTE, 'x'))
    },
    code: 'provider_response_too_large',
    isAbandoned: true,
  },
]

/** Sends the first content, and goes on when it is told to. */
function inTwoSteps(before: string, goOn: (reply: FakeReply, stream: FakeStream) => void) {
  const gate = createGate()
  const script: Script = async (_, reply) => {
    const stream = reply.stream()
    stream.send(ROLE + HI + before)
    await gate.opened
    goOn(reply, stream)
  }
  return { script, open: gate.open }
}

/** The last thing that is passed on before it breaks. */
const lastOf = (before = ''): string => (before.includes(STOP) ? '"stop"' : '"Hi"')

describe('a supplier that has begun to answer and', () => {
  it.each(ROWS.map((row) => [row.id, row.name, row] as const))('%s: %s', async (_, __, row) => {
    let clock: Scene['clock'] | undefined
    const { script, open } = inTwoSteps(row.before ?? '', (reply, stream) =>
      row.breaks(reply, stream, clock!),
    )
    const scene = await openScene([script, good])
    clock = scene.clock
    const response = await scene.ask(STREAM)
    expect([response.status, response.headers.get('x-svc-failover')]).toEqual([200, 'false'])
    const reader = readText(response)
    await reader.until(lastOf(row.before))
    open()
    const text = await reader.rest()
    expect(text).toStartWith(ROLE + HI)
    expect(text).not.toContain('garbled')
    expect(lastError(text)).toMatchObject({ code: row.code, ...providerOf(row) })
    const isExact = row.evidence === 'reported'
    expect(text).toContain(`: x-svc-settlement: ${isExact ? 'settled' : 'estimated'}\n`)
    expect(scene.suppliers[1]!.connections()).toBe(0)
    if (row.isAbandoned) await scene.suppliers[0]!.requests[0]!.closed
    const record = await readOnly(scene)
    expect(record).toMatchObject({
      status: 200,
      code: row.code,
      state: 'settled',
      evidence: row.evidence ?? 'broken',
      attempts: 1,
    })
    expect(toNano(record.cost_usd)).toBe(row.cost ?? DELIVERED)
  })

  const providerOf = ({ provider }: Row): object => (provider === undefined ? {} : { provider })
})

async function readWhole(scene: Scene): Promise<readonly [string, CallRecord]> {
  const response = await scene.ask(STREAM)
  expect(response.status).toBe(200)
  return [await response.text(), await readOnly(scene)]
}

describe('a supplier that is only odd', () => {
  it('S27: may leave out its usage, which is then counted', async () => {
    const { script, open } = inTwoSteps(STOP + DONE, (_, stream) => stream.end())
    open()
    const [text, record] = await readWhole(await openScene([script]))
    expect(text).toEndWith(DONE)
    expect(text).toContain(': x-svc-settlement: estimated\n')
    expect(record).toMatchObject({ state: 'settled', evidence: 'counted', code: null })
    expect(toNano(record.cost_usd)).toBe(DELIVERED)
  })

  it.each([-1, '7', 1e15, null])(
    'S37: may tell %p for a usage, and is not believed',
    async (told) => {
      const usage = { prompt_tokens: told, completion_tokens: 7 }
      const end = STOP + chunk({}, null, { choices: [], usage }) + DONE
      const { script, open } = inTwoSteps(end, (_, stream) => stream.end())
      open()
      const [text, record] = await readWhole(await openScene([script]))
      expect(text).toEndWith(DONE)
      expect(record).toMatchObject({ evidence: 'counted' })
      expect(toNano(record.cost_usd)).toBe(DELIVERED)
    },
  )

  it('S38: may cost more than was held, and the operator pays the rest', async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 100_000 }
    const end = STOP + chunk({}, null, { choices: [], usage }) + DONE
    const { script, open } = inTwoSteps(end, (_, stream) => stream.end())
    open()
    const [, record] = await readWhole(await openScene([script]))
    expect(record.cost_usd).toBe(record.held_usd)
    const { overrun_usd: overrun } = (record as unknown as { settlement: { overrun_usd: number } })
      .settlement
    expect(toNano(record.cost_usd) + toNano(overrun)).toBe(11 * IN + 100_000 * OUT)
  })

  it('S39: may send a word a minute, for as long as the words come', async () => {
    const words = 20
    const steps = Array.from({ length: words }, createGate)
    const scene = await openScene([
      async (_, reply) => {
        const stream = reply.stream()
        stream.send(ROLE + HI)
        for (const [index, { opened }] of steps.entries()) {
          await opened
          stream.send(chunk({ content: `word ${index}.` }))
        }
        stream.send(STOP + USAGE_CHUNK + DONE)
        stream.end()
      },
    ])
    const reader = readText(await scene.ask(STREAM))
    await reader.until('"Hi"')
    for (const [index, step] of steps.entries()) {
      scene.clock.advance(60 * SECOND)
      step.open()
      await reader.until(`word ${index}.`)
    }
    expect(await reader.rest()).toEndWith(DONE)
    expect(await readOnly(scene)).toMatchObject({ evidence: 'reported', code: null })
  })
})
