// Bytes pass unchanged: whatever a caller sends and a supplier answers, only the listed splices, the usage
// event that nobody asked for and comment lines may differ. What is expected is worked out token by token.
import { afterEach, describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../src/core/problem.ts'
import { openaiChat } from '../src/dialects/openai-chat/index.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'
import { extra, jsonText, READ_FIELDS, requestText, space, stringText } from './fakes/json-text.ts'
import { expectRelayed } from './fakes/tokens.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

async function house(script: Script): Promise<{
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}> {
  const supplier = await startFakeSupplier(script)
  const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin)] })
  open.push(supplier, gateway)
  return { gateway, supplier }
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

function patched(sent: string): string {
  const body = encoder.encode(sent)
  const facts = openaiChat.peek(body)
  return decoder.decode(
    openaiChat.relay.patch(body, facts, { model: 'upstream-model', usage: 'ask' }),
  )
}

describe('a request on its way to a supplier', () => {
  it('differs from what the caller sent by the listed splices and nothing else', () => {
    fc.assert(
      fc.property(requestText, (sent) => expectRelayed(sent, patched(sent))),
      { numRuns: 3000 },
    )
  })

  it('keeps each byte of a body that no splice touches', () => {
    const untouched = fc
      .array(extra, { maxLength: 5 })
      .map(
        (members) =>
          `{"model":"upstream-model","messages":[{"role":"user","content":""}],"a" : 1${members.map((each) => ` ,${each}`).join('')}}`,
      )
    fc.assert(fc.property(untouched, (sent) => expect(patched(sent)).toBe(sent)))
  })

  it('arrives at the supplier like that', async () => {
    const { gateway, supplier } = await house((request, reply) => {
      if (JSON.parse(request.body.toString()).stream !== true)
        return reply.json(200, completion('Hi'))
      const stream = reply.stream()
      stream.send(chunk({ content: 'Hi' }) + chunk({}, 'stop') + DONE)
      return stream.end()
    })
    let count = 0
    await fc.assert(
      fc.asyncProperty(requestText, async (sent) => {
        const response = await gateway.chat(sent)
        expect(response.status).toBe(200)
        await response.arrayBuffer()
        const { body } = await supplier.request(count++)
        expectRelayed(sent, body.toString())
      }),
      { numRuns: 150 },
    )
  })

  const spelling = fc.constantFrom(...READ_FIELDS).chain((name) =>
    fc.record({
      name: fc.constant(name),
      text: fc.oneof(escaped(name), cased(name), fc.constant(`"${name}" : 1,"${name}"`)),
      isFirst: fc.boolean(),
      isBeside: fc.boolean(),
      value: jsonText,
    }),
  )

  function escaped(name: string): fc.Arbitrary<string> {
    return fc
      .subarray(
        Array.from(name, (_, at) => at),
        { minLength: 1 },
      )
      .map((places) =>
        Array.from(name, (letter, at) => (places.includes(at) ? hex(letter) : letter)).join(''),
      )
      .map((text) => `"${text}"`)
  }

  function cased(name: string): fc.Arbitrary<string> {
    const letters = Array.from(name, (_, at) => at).filter((at) => name[at] !== '_')
    return fc
      .subarray(letters, { minLength: 1 })
      .map((places) =>
        Array.from(name, (letter, at) => (places.includes(at) ? foreign(letter) : letter)).join(''),
      )
      .map((text) => `"${text}"`)
  }

  function hex(letter: string): string {
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  }

  /** Letters beyond ASCII fold into k and s too. */
  function foreign(letter: string): string {
    return { k: '\u212a', s: '\u017f' }[letter] ?? letter.toUpperCase()
  }

  const ambiguous = spelling.map(({ name, text, isFirst, isBeside, value }) => {
    const plain = { ...HELLO, ...(isBeside ? {} : { [name]: undefined }) }
    const rest = JSON.stringify(plain).slice(1, -1)
    const odd = `${text}:${value}`
    const members = [isFirst ? odd : rest, isFirst ? rest : odd].filter((each) => each !== '')
    return { name, sent: `{${members.join()}}` }
  })

  it('is refused when a field that is read has a second or another spelling', () => {
    fc.assert(
      fc.property(ambiguous, ({ name, sent }) => {
        try {
          openaiChat.peek(encoder.encode(sent))
        } catch (thrown) {
          const { code, status, param } = thrown as GatewayError
          expect({ code, status, param }).toEqual({
            code: 'validation_error',
            status: 400,
            param: name,
          })
          return
        }
        throw new Error(`accepted ${sent}`)
      }),
      { numRuns: 2000 },
    )
  })

  it('never reaches the supplier when it is refused', async () => {
    const { gateway, supplier } = await house((_, reply) => reply.json(200, completion('Hi')))
    await fc.assert(
      fc.asyncProperty(ambiguous, async ({ name, sent }) => {
        const response = await gateway.chat(sent)
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject({
          error: { code: 'validation_error', param: name },
        })
      }),
      { numRuns: 60 },
    )
    expect(supplier.connections()).toBe(0)
  })
})

// A supplier's stream, event by event, with what each of them is.

interface Piece {
  readonly kind: 'content' | 'quiet' | 'void' | 'usage'
  readonly text: string
}

const lineEnd = fc.constantFrom('\n', '\n', '\r\n')

function event(kind: Piece['kind'], body: fc.Arbitrary<string>): fc.Arbitrary<Piece> {
  const before = fc.constantFrom('', '', '', ': note', 'id: 7', 'event: message')
  return fc
    .tuple(before, fc.constantFrom('data: ', 'data:'), body, lineEnd)
    .map(([line, data, text, end]) => ({
      kind,
      text: `${line === '' ? '' : line + end}${data}${text}${end}${end}`,
    }))
}

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
const index = fc.constantFrom(0, 1)

const content = event(
  'content',
  fc
    .tuple(
      index,
      fc.oneof(
        word.map((text) => ({ content: text })),
        word.map((text) => ({ reasoning_content: text, role: 'assistant' })),
        fc.tuple(index, word).map(([at, text]) => ({
          tool_calls: [{ index: at, id: 'c', type: 'function', function: { arguments: text } }],
        })),
        word.map((text) => ({ of_tomorrow: { text } })),
      ),
      fc.dictionary(
        fc.string().filter((name) => !['choices', 'usage', 'error'].includes(name)),
        fc.json(),
      ),
    )
    .map(([at, delta, others]) =>
      JSON.stringify({
        ...others,
        choices: [{ index: at, delta, finish_reason: null }],
        usage: null,
      }),
    ),
)

/** The same event in a spelling of the supplier's own. */
const oddContent = event(
  'content',
  fc
    .tuple(
      stringText.filter((text) => text !== '""'),
      extra,
    )
    .map(([text, more]) => `{ "choices":[ {"delta" : {"content":${text}},"index":0 } ] , ${more} }`)
    .map((text) => text.replaceAll(/[\r\n]/g, ' ')),
)

const quiet = event(
  'quiet',
  fc.constantFrom(
    '{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}',
    '{"choices":[],"prompt_filter_results":[]}',
    '{"choices":[],"usage":null}',
  ),
)
const remark = fc
  .tuple(fc.constantFrom(': keep-alive', ':', '', 'event: ping', 'retry: 10'), lineEnd)
  .map(([line, end]): Piece => ({ kind: 'void', text: line === '' ? end : line + end + end }))

const usageEvent = event('usage', fc.constant(JSON.stringify({ choices: [], usage: USAGE })))
const finishEvents = fc
  .tuple(
    ...[0, 1].map((at) =>
      event(
        'quiet',
        fc.constant(JSON.stringify({ choices: [{ index: at, delta: {}, finish_reason: 'stop' }] })),
      ),
    ),
  )
  .map((events) => events)

const stream = fc.record({
  pieces: fc
    .tuple(
      fc.array(fc.oneof(quiet, remark), { maxLength: 3 }),
      fc.oneof(content, oddContent),
      fc.array(fc.oneof({ weight: 4, arbitrary: content }, oddContent, quiet, remark), {
        maxLength: 12,
      }),
      finishEvents,
      fc.array(fc.oneof(usageEvent, remark), { maxLength: 2 }),
    )
    .map(([before, first, more, finish, after]) => [
      ...before,
      first,
      ...more,
      ...finish,
      ...after,
    ]),
  asksUsage: fc.boolean(),
  cuts: fc.array(fc.nat(), { maxLength: 12 }),
  isCutAtReturns: fc.boolean(),
  isUnhurried: fc.boolean(),
})

/** What reaches the caller: no void before the first content, and usage only if it was asked for. */
function expectedStream(pieces: readonly Piece[], asksUsage: boolean): string {
  const begins = pieces.findIndex(({ kind }) => kind === 'content')
  return pieces
    .filter(({ kind }, at) => (kind === 'usage' ? asksUsage : kind !== 'void' || at > begins))
    .map(({ text }) => text)
    .join('')
}

/** Cuts anywhere, also inside of a character, and on demand inside of every CRLF. */
function slices(text: string, cuts: readonly number[], isCutAtReturns: boolean): Uint8Array[] {
  const bytes = Buffer.from(text)
  const returns = isCutAtReturns
    ? Array.from(bytes, (byte, at) => (byte === 0x0d ? at + 1 : 0))
    : []
  const places = new Set([0, ...cuts.map((cut) => cut % bytes.length), ...returns, bytes.length])
  const sorted = [...places].toSorted((left, right) => left - right)
  return sorted.slice(1).map((to, at) => bytes.subarray(sorted[at], to))
}

const turn = () => new Promise<void>((resolve) => void setImmediate(resolve))
const COMMENTS = /^(?:: x-svc-[a-z-]+: [^\n]+\n)+\n$/

/** Asserts that the answer is what was expected, then comment lines, then the marker. */
function expectStream(received: Buffer, expected: string, marker: string): void {
  const before = Buffer.from(expected)
  expect(received.subarray(0, before.length).equals(before)).toBe(true)
  const rest = received.subarray(before.length).toString()
  expect(rest.endsWith(marker)).toBe(true)
  expect(rest.slice(0, rest.length - marker.length)).toMatch(COMMENTS)
}

describe('a stream on its way to a caller', () => {
  it('passes byte by byte, however it is written and sliced', async () => {
    let parts: readonly Uint8Array[] = []
    let isUnhurried = false
    const { gateway } = await house(async (_, reply) => {
      const answer = reply.stream()
      for (const part of parts) {
        answer.send(part)
        if (isUnhurried) await turn()
      }
      answer.end()
    })
    await fc.assert(
      fc.asyncProperty(stream, async (run) => {
        parts = slices(
          run.pieces.map(({ text }) => text).join('') + DONE,
          run.cuts,
          run.isCutAtReturns,
        )
        isUnhurried = run.isUnhurried
        const asked = run.asksUsage ? { stream_options: { include_usage: true } } : {}
        const response = await gateway.chat({ ...HELLO, stream: true, ...asked })
        const received = Buffer.from(await response.arrayBuffer())
        expectStream(received, expectedStream(run.pieces, run.asksUsage), DONE)
      }),
      { numRuns: 200 },
    )
  })

  async function relayed(text: string, size: number): Promise<Buffer> {
    const bytes = Buffer.from(text)
    const { gateway } = await house((_, reply) => {
      const answer = reply.stream()
      for (let at = 0; at < bytes.length; at += size) answer.send(bytes.subarray(at, at + size))
      answer.end()
    })
    const response = await gateway.chat({ ...HELLO, stream: true })
    return Buffer.from(await response.arrayBuffer())
  }

  it('passes 2,000 events', async () => {
    const events = Array.from({ length: 2000 }, (_, at) => chunk({ content: `é${at} ` })).join('')
    const text = events + chunk({}, 'stop')
    expectStream(await relayed(text + DONE, 1009), text, DONE)
  })

  it('passes one event of 5 MiB, be it the first or a later one', async () => {
    const large = chunk({ content: 'é'.repeat((5 * 1_048_576) / 2) })
    for (const first of ['', chunk({ content: 'Hi' })]) {
      const text = first + large + chunk({}, 'stop')
      expectStream(await relayed(text + DONE, 65_521), text, DONE)
    }
  })

  it('is closed where the supplier left its last event open', async () => {
    const text = chunk({ content: 'Hi' }) + chunk({}, 'stop').trimEnd()
    expectStream(await relayed(text, 50), `${text}\n\n`, '')
  })

  it('ends without a marker where the supplier sends none', async () => {
    const text = chunk({ content: 'Hi' }) + chunk({}, 'stop')
    expectStream(await relayed(text, 7), text, '')
  })
})

describe('a unary answer on its way to a caller', () => {
  it('passes without a length and in pieces, and compressed, as the same bytes', async () => {
    const answer = JSON.stringify(completion('Grüße '.repeat(50_000)), null, 1)
    const { gateway } = await house((_, reply, index) => {
      const encoding = index === 0 ? {} : { 'content-encoding': 'gzip' }
      const body = reply.stream({ 'content-type': 'application/json', ...encoding })
      const bytes = index === 0 ? Buffer.from(answer) : Bun.gzipSync(answer)
      for (let at = 0; at < bytes.length; at += 999) body.send(bytes.subarray(at, at + 999))
      body.end()
    })
    for (const _ of ['plain', 'compressed']) {
      const response = await gateway.chat(HELLO)
      expect(await response.text()).toBe(answer)
      expect(response.headers.has('content-encoding')).toBe(false)
    }
  })

  it('passes byte by byte, however it is written', async () => {
    let answer = ''
    const { gateway } = await house((_, reply) => reply.json(200, answer))
    const choices = '"choices" : [ {"index":0,"message":{"role":"assistant","content":"\\u00e9"}} ]'
    const answers = fc
      .tuple(fc.array(extra, { maxLength: 4 }), space, fc.boolean())
      .filter(([extras]) => extras.every((each) => !/^"(error|choices|usage)"/.test(each)))
      .map(([extras, gap, hasUsage]) => {
        const usage = hasUsage ? [`"usage":${gap}${JSON.stringify(USAGE, null, gap)}`] : []
        return `${gap}{${[...extras, choices, ...usage].join(`,${gap}`)}${gap}}${gap}`
      })
    await fc.assert(
      fc.asyncProperty(answers, async (text) => {
        answer = text
        const response = await gateway.chat(HELLO)
        expect(await response.text()).toBe(text)
        expect(response.headers.get('content-type')).toBe('application/json')
      }),
      { numRuns: 150 },
    )
  })
})
