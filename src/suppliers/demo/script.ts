// Turns an answer into the parts that go over the wire, whole or broken off as the model's row says.
// A unary answer breaks where its stream would: in the middle of the bytes.
import type { Choice } from './answer.ts'
import type { Script } from './body.ts'
import { completionOf, usageOf } from './completion.ts'
import type { Json } from './json.ts'
import { SERVER_ERROR, type Behaviour } from './models.ts'
import { DemoRefusal, printError } from './refusal.ts'
import type { DemoRequest } from './request.ts'
import { streamOf, type Streamed } from './stream.ts'

/** How one language prints an answer. */
export interface Voice {
  stream(request: DemoRequest, choices: readonly Choice[], reportsUsage: boolean): Streamed
  /** `finish`: null is what an answer without an end shows. */
  whole(request: DemoRequest, choices: readonly Choice[], finish?: null): Json
  usage(request: DemoRequest, choices: readonly Choice[]): Json
  /** The event of a failure in the middle of a stream. */
  readonly failure: string
}

export const chatVoice: Voice = {
  stream: streamOf,
  whole: completionOf,
  usage: usageOf,
  failure: `data: ${printError(SERVER_ERROR)}\n\n`,
}

export function streamScript(
  request: DemoRequest,
  choices: readonly Choice[],
  behaviour: Behaviour,
  voice: Voice,
): Script {
  const { breaks, pieceMs: pauseMs = 0 } = behaviour
  const { pieces, closing } = voice.stream(request, choices, !behaviour.hidesUsage)
  if (!breaks) return { parts: [...pieces, closing], ending: 'close', delayMs: 0, pauseMs }
  // More than half, so that even the shortest answer shows some text before it breaks.
  const parts = pieces.slice(0, Math.floor(pieces.length / 2) + 1)
  if (breaks === 'error') parts.push(voice.failure)
  const isQuiet = breaks === 'hang' || breaks === 'cut'
  return { parts, ending: isQuiet ? breaks : 'close', delayMs: 0, pauseMs }
}

export function unaryScript(
  request: DemoRequest,
  choices: readonly Choice[],
  behaviour: Behaviour,
  voice: Voice,
): Script {
  const { breaks, pieceMs = 0 } = behaviour
  if (breaks === 'error') throw new DemoRefusal(500, SERVER_ERROR)
  const usage = behaviour.hidesUsage ? {} : { usage: voice.usage(request, choices) }
  const finish = breaks === 'end' ? null : undefined
  const whole = JSON.stringify({ ...voice.whole(request, choices, finish), ...usage })
  if (breaks === 'hang' || breaks === 'cut') {
    return { parts: [whole.slice(0, whole.length / 2)], ending: breaks, delayMs: 0, pauseMs: 0 }
  }
  // A slow model takes as long as its stream would.
  const pieces = pieceMs > 0 ? voice.stream(request, choices, true).pieces.length : 0
  return { parts: [whole], ending: 'close', delayMs: pieceMs * pieces, pauseMs: 0 }
}
