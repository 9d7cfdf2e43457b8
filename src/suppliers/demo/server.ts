// A supplier that anyone can try: a real server on the loopback address that speaks chat completions, messages and
// responses, counts the tokens of messages, makes vectors, rankings, sounds and transcripts, and runs no model. It
// misbehaves only where a model's row says so.
import { pause } from './body.ts'
import { readEmbedRequest } from './embed.ts'
import { countMessages, messagesVoice, readMessagesRequest } from './messages.ts'
import { OTHER_TASKS, taskOf, type Behaviour, type DemoName, type OtherTask } from './models.ts'
import { leftAlone, listen, pathOf, type DemoServer, type Presence } from './presence.ts'
import { readRankRequest } from './rank.ts'
import { DemoRefusal, type Language } from './refusal.ts'
import { getModel, sendAnswer, sendCanned, sendRefusal, sendWhole, wrongAddress } from './reply.ts'
import type { Visit } from './reply.ts'
import { readRequest, type DemoRequest } from './request.ts'
import { readResponsesRequest, responsesVoice } from './responses.ts'
import { chatVoice, type Voice } from './script.ts'
import { readSpeakRequest } from './speak.ts'
import type { TaskRequest } from './task.ts'
import { readTranscribeRequest } from './transcribe.ts'

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
  embedding: '/v1/embeddings',
  rerank: '/v1/rerank',
  transcription: '/v1/audio/transcriptions',
  speech: '/v1/audio/speech',
} as const
const ADDRESSES: ReadonlySet<string> = new Set(Object.values(PATHS))
const LANGUAGES = ['chat', 'messages', 'responses', ...OTHER_TASKS] as const

/** Native agents have a server of their own. */
type Spoken = Exclude<Language, 'native'>
type Chatty = Exclude<Spoken, OtherTask>

/** How a language is read and spoken. */
interface Speech extends Voice {
  readonly read: (body: string) => DemoRequest
}

const SPEECHES: Readonly<Record<Chatty, Speech>> = {
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

const TASKS: Readonly<Record<OtherTask, (request: Request) => Promise<TaskRequest>>> = {
  embedding: async (request) => readEmbedRequest(await request.text()),
  rerank: async (request) => readRankRequest(await request.text()),
  transcription: readTranscribeRequest,
  speech: async (request) => readSpeakRequest(await request.text()),
}

/** A request that was read, in whatever language. */
interface Asked {
  readonly model: string
  readonly stream: boolean
  send(behaviour: Behaviour, visit: Visit): Response | Promise<Response>
}

async function respond(
  request: Request,
  options: DemoOptions,
  presence: Presence,
): Promise<Response> {
  checkAddress(request)
  const language = languageOf(request)
  checkCredential(request, language, options.credential)
  const asked = isTask(language)
    ? await readTask(request, language)
    : await readChat(request, language)
  const { behaviour } = getModel(asked.model, language)
  if (behaviour.silent) {
    await pause(Infinity, request.signal)
    return leftAlone()
  }
  const isCanned = behaviour.cannedBy === undefined || behaviour.cannedBy === options.name
  if (behaviour.canned && isCanned) return sendCanned(behaviour.canned, asked.stream)
  return asked.send(behaviour, { signal: request.signal, presence })
}

async function readTask(request: Request, task: OtherTask): Promise<Asked> {
  const asked = await TASKS[task](request)
  return {
    model: asked.model,
    stream: false,
    send: (behaviour, visit) => sendWhole(asked.compose(behaviour), behaviour, visit),
  }
}

async function readChat(request: Request, language: Chatty): Promise<Asked> {
  const body = await request.text()
  if (pathOf(request) === PATHS.count) {
    const { model, stream, input_tokens } = countMessages(body)
    return { model, stream, send: () => Response.json({ input_tokens }) }
  }
  const speech = SPEECHES[language]
  const asked = speech.read(body)
  return {
    model: asked.model,
    stream: asked.stream,
    send: (behaviour, visit) => sendAnswer(asked, behaviour, speech, visit),
  }
}

function checkAddress(request: Request): void {
  const path = pathOf(request)
  const isKnown = ADDRESSES.has(path)
  if (!isKnown || request.method !== 'POST') throw wrongAddress(request, path, isKnown)
}

function languageOf(request: Request): Spoken {
  const path = pathOf(request)
  if (path === PATHS.count) return 'messages'
  return LANGUAGES.find((language) => PATHS[language] === path) ?? 'chat'
}

function isTask(language: Spoken): language is OtherTask {
  return taskOf({ language }) !== undefined
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
