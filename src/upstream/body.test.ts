// A supplier's answer is read whole or not at all, and never past the limit, whatever it says of itself.
import { describe, expect, it } from 'bun:test'
import { readBody } from './body.ts'

const LIMIT = 1000

function answer(bytes: number, headers: Record<string, string> = {}, sliceBytes = 100): Response {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent >= bytes) return controller.close()
      const size = Math.min(sliceBytes, bytes - sent)
      sent += size
      controller.enqueue(new Uint8Array(size).fill(7))
    },
  })
  return new Response(body, { headers })
}

describe('reading a body', () => {
  it.each([0, 1, 99, 100, 999, LIMIT])('returns all of %p bytes', async (bytes) => {
    const whole = new Uint8Array(bytes).fill(7)
    expect(await readBody(answer(bytes), LIMIT)).toEqual(whole)
    expect(await readBody(answer(bytes, { 'content-length': String(bytes) }), LIMIT)).toEqual(whole)
  })

  it.each([
    ['says so', answer(LIMIT + 1, { 'content-length': String(LIMIT + 1) })],
    ['says nothing', answer(LIMIT + 1)],
    [
      'was small before it was unpacked',
      answer(LIMIT + 1, { 'content-length': '9', 'content-encoding': 'gzip' }),
    ],
    ['never ends', answer(Number.POSITIVE_INFINITY)],
  ])('refuses one that is too large and %s', async (_, response) => {
    const failure = await readBody(response, LIMIT).catch((thrown: unknown) => thrown)
    expect(failure).toMatchObject({
      evidence: 'unknown',
      isFinal: true,
      problem: { code: 'provider_response_too_large', status: 502 },
    })
  })

  it('takes an answer without a body for an empty one', async () => {
    expect(await readBody(new Response(null), LIMIT)).toHaveLength(0)
  })
})
