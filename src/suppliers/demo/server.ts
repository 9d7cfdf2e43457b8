// A supplier that anyone can try: a real server on the loopback address that speaks chat completions, messages and
// responses, counts the tokens of messages and runs no model. It misbehaves only where a model's row says so.
import { answer } from './answer.ts'
import { openBody, pause } from './body.ts'
import { findDemoModel, type Canned, type DemoModel, type DemoName } from './models.ts'
import { countMessages, messagesVoice, readMessagesRequest } from './messages.ts'
import { DemoRefusal, printError, type Language } from './refusal.ts'
import { readRequest, type DemoRequest } from './request.ts'
import { readResponsesRequest, responsesVoice } from './responses.ts'
import { chatVoice, streamScript, unaryScript, type Voice } from './script.ts'

export interface DemoOptions {
  readonly name: DemoName
  readonly credential: string
}

export interface DemoServer {
  readonly origin: string
  /** How many requests came in, refused ones included. */
  readonly calls: () => number
  /** Resolves as soon as no call is under way: a caller who left must not be waited for. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export const PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  count: '/v1/messages/count_tokens',
  responses: '/v1/responses',
} as const
const ADDRESSES: ReadonlySet<string> = new Set(Object.values(PATHS))

/** How a language is read and spoken. */
interface Speech extends Voice {
  readonly read: (body: string) => DemoRequest
}

const SPEECHES: Readonly<Record<Language, Speech>> = {
  chat: { ...chatVoice, read: readRequest },
  messages: { ...messagesVoice, read: readMessagesRequest },
  responses: { ...responsesVoice, read: readResponsesRequest },
}

export function startDemo(options: DemoOptions): DemoServer {
  let calls = 0
  const presence = trackPresence()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // A model that falls silent must stay silent until its caller gives up.
    idleTimeout: 0,
    development: false,
    async fetch(request) {
      calls += 1
      const leave = presence.enter()
      try {
        return await respond(request, options, presence)
      } catch (thrown) {
        if (thrown instanceof DemoRefusal) return renderRefusal(thrown, languageOf(request))
        if (request.signal.aborted) return leftAlone()
        throw thrown
      } finally {
        leave()
      }
    },
  })
  return {
    origin: server.url.origin,
    calls: () => calls,
    idle: () => presence.idle(),
    stop: () => server.stop(true),
  }
}

interface Presence {
  /** The returned function may be called more than once. */
  enter(): () => void
  idle(): Promise<void>
}

function trackPresence(): Presence {
  const present = new Set<object>()
  let waiting: (() => void)[] = []
  return {
    enter() {
      const visit = {}
      present.add(visit)
      return () => {
        present.delete(visit)
        if (present.size > 0) return
        for (const resolve of waiting) resolve()
        waiting = []
      }
    },
    async idle() {
      if (present.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      await promise
    },
  }
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
  const choices = answer(asked, behaviour)
  const toScript = asked.stream ? streamScript : unaryScript
  const script = toScript(asked, choices, behaviour, speech)
  const headers = {
    'content-type': asked.stream ? 'text/event-stream' : 'application/json',
    'x-request-id': `req-demo-${asked.fingerprint}`,
  }
  // A whole unary answer has a length; everything else is sent in chunks.
  const isWhole = !asked.stream && script.ending === 'close'
  await pause(script.delayMs, request.signal)
  if (isWhole) return new Response(script.parts.join(''), { headers })
  return new Response(openBody(script, request.signal, presence.enter()), { headers })
}

/** For a caller who has gone: nobody reads it, but the runtime wants a reply. */
function leftAlone(): Response {
  return new Response(null, { status: 499 })
}

function checkAddress(request: Request): void {
  const path = pathOf(request)
  const isKnown = ADDRESSES.has(path)
  if (isKnown && request.method === 'POST') return
  throw new DemoRefusal(isKnown ? 405 : 404, {
    message: `Invalid URL (${request.method} ${path})`,
    type: 'invalid_request_error',
    code: null,
    param: null,
  })
}

function languageOf(request: Request): Language {
  const path = pathOf(request)
  if (path === PATHS.responses) return 'responses'
  return path.startsWith(PATHS.messages) ? 'messages' : 'chat'
}

function pathOf({ url }: Request): string {
  return new URL(url).pathname
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

function getModel(name: string, language: Language): DemoModel {
  const model = findDemoModel(name)
  if (model?.language === language) return model
  throw new DemoRefusal(404, {
    message: `The model \`${name}\` does not exist or you do not have access to it.`,
    type: language === 'messages' ? 'not_found_error' : 'invalid_request_error',
    code: 'model_not_found',
    param: null,
  })
}

function sendCanned(canned: Canned, isStream: boolean): Response {
  const { status, headers } = canned
  if (!isStream || canned.streamBody === undefined) {
    const type = { 'content-type': canned.contentType }
    return new Response(canned.body, { status, headers: { ...type, ...headers } })
  }
  const type = { 'content-type': 'text/event-stream' }
  return new Response(canned.streamBody, { headers: { ...type, ...headers } })
}

function renderRefusal(refusal: DemoRefusal, language: Language): Response {
  return new Response(printError(refusal.fields, language), {
    status: refusal.status,
    headers: { 'content-type': 'application/json' },
  })
}
