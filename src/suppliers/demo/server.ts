// A supplier that anyone can try: a real server on the loopback address that speaks chat completions, messages and
// responses, counts the tokens of messages and runs no model. It misbehaves only where a model's row says so.
import { pause } from './body.ts'
import { countMessages, messagesVoice, readMessagesRequest } from './messages.ts'
import type { DemoName } from './models.ts'
import { leftAlone, listen, pathOf, type DemoServer, type Presence } from './presence.ts'
import { DemoRefusal, type Language } from './refusal.ts'
import { getModel, sendAnswer, sendCanned, sendRefusal, wrongAddress } from './reply.ts'
import { readRequest, type DemoRequest } from './request.ts'
import { readResponsesRequest, responsesVoice } from './responses.ts'
import { chatVoice, type Voice } from './script.ts'

export type { DemoServer } from './presence.ts'

export interface DemoOptions {
  readonly name: DemoName
  readonly credential: string
}

export const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  count: '/v1/messages/count_tokens',
  responses: '/v1/responses',
} as const
const ADDRESSES: ReadonlySet<string> = new Set(Object.values(PATHS))

/** Native agents have a server of their own. */
type Spoken = Exclude<Language, 'native'>

/** How a language is read and spoken. */
interface Speech extends Voice {
  readonly read: (body: string) => DemoRequest
}

const SPEECHES: Readonly<Record<Spoken, Speech>> = {
  chat: { ...chatVoice, read: readRequest },
  messages: { ...messagesVoice, read: readMessagesRequest },
  responses: { ...responsesVoice, read: readResponsesRequest },
}

export function startDemo(options: DemoOptions): DemoServer {
  return listen({
    respond: (request, presence) => respond(request, options, presence),
    refuse: (refusal, request) => sendRefusal(refusal, languageOf(request)),
  })
}

async function respond(
  request: Request,
  options: DemoOptions,
  presence: Presence,
): Promise<Response> {
  checkAddress(request)
  const language = languageOf(request)
  const speech = SPEECHES[language]
  checkCredential(request, language, options.credential)
  const body = await request.text()
  const isCount = pathOf(request) === PATHS.count
  const asked = isCount ? countMessages(body) : speech.read(body)
  const { behaviour } = getModel(asked.model, language)
  if (behaviour.silent) {
    await pause(Infinity, request.signal)
    return leftAlone()
  }
  const isCanned = behaviour.cannedBy === undefined || behaviour.cannedBy === options.name
  if (behaviour.canned && isCanned) return sendCanned(behaviour.canned, asked.stream)
  if ('input_tokens' in asked) return Response.json({ input_tokens: asked.input_tokens })
  return sendAnswer(asked, behaviour, speech, { signal: request.signal, presence })
}

function checkAddress(request: Request): void {
  const path = pathOf(request)
  const isKnown = ADDRESSES.has(path)
  if (!isKnown || request.method !== 'POST') throw wrongAddress(request, path, isKnown)
}

function languageOf(request: Request): Spoken {
  const path = pathOf(request)
  if (path === PATHS.responses) return 'responses'
  return path.startsWith(PATHS.messages) ? 'messages' : 'chat'
}

function checkCredential({ headers }: Request, language: Language, credential: string): void {
  const isRight =
    language === 'messages'
      ? headers.get('x-api-key') === credential
      : headers.get('authorization') === `Bearer ${credential}`
  if (isRight) return
  throw new DemoRefusal(401, {
    message: 'Incorrect API key provided.',
    type: language === 'messages' ? 'authentication_error' : 'invalid_request_error',
    code: 'invalid_api_key',
    param: null,
  })
}
