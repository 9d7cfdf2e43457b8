// Turns an answer into the parts that go over the wire, whole or broken off as the model's row says.
// A unary answer breaks where its stream would: in the middle of the bytes.
import type { Choice } from './answer.ts'
import type { Script } from './body.ts'
import { completionOf, usageOf } from './completion.ts'
import { SERVER_ERROR, type Behaviour } from './models.ts'
import { DemoRefusal, printError } from './refusal.ts'
import type { DemoRequest } from './request.ts'
import { streamOf } from './stream.ts'

export function streamScript(
  request: DemoRequest,
  choices: readonly Choice[],
  behaviour: Behaviour,
): Script {
  const { breaks, pieceMs: pauseMs = 0 } = behaviour
  const { pieces, closing } = streamOf(request, choices, !behaviour.hidesUsage)
  if (!breaks) return { parts: [...pieces, closing], ending: 'close', delayMs: 0, pauseMs }
  // More than half, so that even the shortest answer shows some text before it breaks.
  const parts = pieces.slice(0, Math.floor(pieces.length / 2) + 1)
  if (breaks === 'error') parts.push(`data: ${printError(SERVER_ERROR)}\n\n`)
  const isQuiet = breaks === 'hang' || breaks === 'cut'
  return { parts, ending: isQuiet ? breaks : 'close', delayMs: 0, pauseMs }
}

export function unaryScript(
  request: DemoRequest,
  choices: readonly Choice[],
  behaviour: Behaviour,
): Script {
  const { breaks, pieceMs = 0 } = behaviour
  if (breaks === 'error') throw new DemoRefusal(500, SERVER_ERROR)
  const usage = behaviour.hidesUsage ? {} : { usage: usageOf(request, choices) }
  const finish = breaks === 'end' ? null : undefined
  const whole = JSON.stringify({ ...completionOf(request, choices, finish), ...usage })
  if (breaks === 'hang' || breaks === 'cut') {
    return { parts: [whole.slice(0, whole.length / 2)], ending: breaks, delayMs: 0, pauseMs: 0 }
  }
  // A slow model takes as long as its stream would.
  const pieces = pieceMs > 0 ? streamOf(request, choices, true).pieces.length : 0
  return { parts: [whole], ending: 'close', delayMs: pieceMs * pieces, pauseMs: 0 }
}
