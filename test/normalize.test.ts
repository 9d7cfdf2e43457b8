// A supplier that leaves the reason to stop out of its streams: with `normalize` its closing marker counts
// as the end, and whatever ends in another way is still told apart from a whole answer.
import { afterEach, describe, expect, it } from 'bun:test'
import { startGateway } from './fakes/gateway.ts'
import { DONE, startFakeSupplier } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

const HI = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n'
const TOLD = 'data: {"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n'

/** What a caller hears of a stream that its supplier sends in this way. */
async function heard(sent: string, quirks: string): Promise<string> {
  const supplier = await startFakeSupplier((_, reply) => {
    const events = reply.stream()
    events.send(sent)
    return events.end()
  })
  open.push(supplier)
  const gateway = await startGateway({
    config: `suppliers:
  rack:
    kind: openai-compatible
    origin: ${supplier.origin}
    allow_private: true
    models: { own: { price: { input: 1, output: 2 } } }
    quirks: ${quirks}
`,
  })
  open.push(gateway)
  const response = await gateway.chat({
    model: 'own',
    stream: true,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  return response.text()
}

/** The reasons to stop, in the order in which they came. */
function reasons(text: string): readonly unknown[] {
  return [...text.matchAll(/"finish_reason":("\w+")/g)].map((match) => match[1])
}

describe('a stream without a reason to stop', () => {
  it('is whole with its marker, and its caller gets the reason before it', async () => {
    const text = await heard(HI + TOLD + DONE, '{ normalize: true }')
    expect(text).not.toContain('"error"')
    expect(reasons(text)).toEqual(['"stop"'])
    expect(text.indexOf('"stop"')).toBeLessThan(text.indexOf('[DONE]'))
    expect(text).toContain(': x-svc-output-tokens: 2\n')
  })

  it('is interrupted without its marker', async () => {
    const text = await heard(HI + TOLD, '{ normalize: true }')
    expect(text).toContain('stream_interrupted')
    expect(reasons(text)).toEqual([])
  })

  it('is interrupted where another choice was given one', async () => {
    const other = 'data: {"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}\n\n'
    const text = await heard(HI + other + DONE, '{ normalize: true }')
    expect(text).toContain('stream_interrupted')
    expect(reasons(text)).toEqual(['"length"'])
  })

  it('is interrupted where its supplier is not known to leave things out', async () => {
    const text = await heard(HI + TOLD + DONE, '{ usage: always }')
    expect(text).toContain('stream_interrupted')
    expect(text).not.toContain('[DONE]')
  })
})
