// What a server of the demo sends: an answer as the model's row wants it, a canned one, or a refusal in the shape of
// the language at hand.
import { answer } from './answer.ts'
import { openBody, pause } from './body.ts'
import { findDemoModel, type Behaviour, type Canned, type DemoModel } from './models.ts'
import type { Presence } from './presence.ts'
import { DemoRefusal, printError, type Language } from './refusal.ts'
import type { DemoRequest } from './request.ts'
import { streamScript, unaryScript, type Voice } from './script.ts'
import type { TaskAnswer } from './task.ts'

/** What a long answer is cut into. */
const PIECES = 8

/** Who is answered. */
export interface Visit {
  readonly signal: AbortSignal
  readonly presence: Presence
}

export async function sendAnswer(
  asked: DemoRequest,
  behaviour: Behaviour,
  voice: Voice,
  { signal, presence }: Visit,
): Promise<Response> {
  const choices = answer(asked, behaviour)
  const toScript = asked.stream ? streamScript : unaryScript
  const script = toScript(asked, choices, behaviour, voice)
  const headers = {
    'content-type': asked.stream ? 'text/event-stream' : 'application/json',
    'x-request-id': `req-demo-${asked.fingerprint}`,
  }
  // A whole unary answer has a length; everything else is sent in chunks.
  const isWhole = !asked.stream && script.ending === 'close'
  await pause(script.delayMs, signal)
  if (isWhole) return new Response(script.parts.join(''), { headers })
  return new Response(openBody(script, signal, presence.enter()), { headers })
}

/** An answer of another kind: whole, or piece by piece, or no more than the first half of it. */
export function sendWhole(
  { body, contentType }: TaskAnswer,
  { breaks, pieceMs: pauseMs = 0 }: Behaviour,
  { signal, presence }: Visit,
): Response {
  const headers = { 'content-type': contentType }
  if (breaks === undefined && pauseMs === 0) return new Response(body, { headers })
  const bytes = Buffer.from(body)
  const size = Math.ceil(bytes.length / PIECES)
  const pieces = Array.from({ length: PIECES }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  )
  const parts = breaks === undefined ? pieces : pieces.slice(0, PIECES / 2)
  const ending = breaks === 'hang' || breaks === 'cut' ? breaks : 'close'
  const script = { parts, ending, delayMs: 0, pauseMs } as const
  return new Response(openBody(script, signal, presence.enter()), { headers })
}

export function sendCanned(canned: Canned, isStream: boolean): Response {
  const { status, headers } = canned
  if (!isStream || canned.streamBody === undefined) {
    const type = { 'content-type': canned.contentType }
    return new Response(canned.body, { status, headers: { ...type, ...headers } })
  }
  const type = { 'content-type': 'text/event-stream' }
  return new Response(canned.streamBody, { headers: { ...type, ...headers } })
}

export function sendRefusal({ fields, status }: DemoRefusal, language: Language): Response {
  const headers = { 'content-type': 'application/json' }
  return new Response(printError(fields, language), { status, headers })
}

export function getModel(name: string, language: Language): DemoModel {
  const model = findDemoModel(name)
  if (model?.language === language) return model
  throw new DemoRefusal(404, {
    message: `The model \`${name}\` does not exist or you do not have access to it.`,
    type: language === 'messages' ? 'not_found_error' : 'invalid_request_error',
    code: 'model_not_found',
    param: null,
  })
}

export function wrongAddress(request: Request, path: string, isKnown: boolean): DemoRefusal {
  return new DemoRefusal(isKnown ? 405 : 404, {
    message: `Invalid URL (${request.method} ${path})`,
    type: 'invalid_request_error',
    code: null,
    param: null,
  })
}
