// Reads a supplier's whole answer and stops at a limit, so that no supplier can fill our memory.
import { advise } from '../core/problem.ts'
import { AttemptFailure } from './failure.ts'

export function readBody(response: Response, bytesMax: number): Promise<Uint8Array> {
  const { headers } = response
  const length = Number(headers.get('content-length') ?? Number.NaN)
  // An encoded body grows while it is read; only a plain one is known to fit.
  if (headers.has('content-encoding') || Number.isNaN(length))
    return readLimited(response, bytesMax)
  return length <= bytesMax ? response.bytes() : Promise.reject(tooLarge(bytesMax))
}

async function readLimited(response: Response, bytesMax: number): Promise<Uint8Array> {
  if (response.body === null) return new Uint8Array(0)
  const chunks: Uint8Array[] = []
  let total = 0
  for await (const chunk of response.body) {
    total += chunk.length
    if (total > bytesMax) throw tooLarge(bytesMax)
    chunks.push(chunk)
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
}

function tooLarge(bytesMax: number): AttemptFailure {
  const text = `The supplier's answer exceeds ${Math.round(bytesMax / 1_048_576)} MiB.`
  return new AttemptFailure(advise('provider_response_too_large', text), 'unknown', {
    isFinal: true,
  })
}
