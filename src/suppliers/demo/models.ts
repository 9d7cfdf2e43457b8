// The demo supplier's models: one row says what a model is called, what it costs and how it behaves,
// mostly how it misbehaves. A new misfortune is a row.
import type { ModelLimits } from '../../core/load.ts'
import { toPicoUsd } from '../../core/money.ts'
import type { Task } from '../../core/task.ts'
import type { Price } from '../../core/usage.ts'
import { printError, type ErrorFields, type Language } from './refusal.ts'

export type DemoName = 'demo' | 'demo-backup' | 'demo-native'

/** The suppliers of the demo and where each is said to be, in the order in which they are asked. */
export const DEMO_REGIONS: Readonly<Record<DemoName, string>> = {
  demo: 'EU',
  'demo-backup': 'US',
  'demo-native': 'EU',
}

/**
 * The demo keeps to these by itself: without a maximum an answer ends at the ceiling, and a longer prompt is
 * refused. With one it may be longer, so whoever relies on the ceiling sends no higher one.
 */
export const DEMO_LIMITS = {
  contextWindow: 1_000_000,
  outputCeiling: 4096,
  imageTokens: 85,
} as const satisfies ModelLimits

/** A reply that does not depend on the request. */
export interface Canned {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
  /** What a stream gets instead, as an event stream with status 200. */
  readonly streamBody?: string
}

export interface Behaviour {
  /** Sent instead of an answer. */
  readonly canned?: Canned
  /** Only this supplier sends the canned reply; the other answers. */
  readonly cannedBy?: DemoName
  /** Never says a word. */
  readonly silent?: true
  readonly reasons?: true
  /** Answers with as many tokens as it may. */
  readonly fills?: true
  readonly hidesUsage?: true
  /** The pause between two pieces. */
  readonly pieceMs?: number
  /** What happens after half of the pieces. */
  readonly breaks?: 'hang' | 'cut' | 'end' | 'error'
  /**
   * What it holds against the token of a sign-in. `expired`: that it is the first one, or any after an even number of
   * renewals, so that each renewal cures it once. `revoked`: that it is there, and from then on it is not renewed.
   */
  readonly finds?: 'expired' | 'revoked'
}

export interface DemoModel {
  readonly name: string
  /** One line for a person. */
  readonly summary: string
  readonly price: Price
  readonly behaviour: Behaviour
  readonly language: Language
}

const PLAIN: Price = {
  input: toPicoUsd(150_000),
  cachedInput: toPicoUsd(75_000),
  output: toPicoUsd(600_000),
}

const DEAR: Price = {
  input: toPicoUsd(1_100_000),
  cachedInput: toPicoUsd(275_000),
  output: toPicoUsd(4_400_000),
}

export const SERVER_ERROR: ErrorFields = {
  message: 'The server had an error while processing your request. Sorry about that!',
  type: 'server_error',
  code: null,
  param: null,
}

function refuse(
  status: number,
  fields: ErrorFields,
  headers = {},
  language: Language = 'chat',
): Canned {
  return { status, contentType: 'application/json', body: printError(fields, language), headers }
}

function row(name: string, summary: string, behaviour: Behaviour, price = PLAIN): DemoModel {
  return { name, summary, price, behaviour, language: 'chat' }
}

const REFUSING: readonly DemoModel[] = [
  row('error-500', 'Always fails with status 500.', { canned: refuse(500, SERVER_ERROR) }),
  row('error-400', 'Refuses every request as invalid, status 400.', {
    canned: refuse(400, {
      message: "Invalid 'temperature': the demo model error-400 refuses every request.",
      type: 'invalid_request_error',
      code: 'invalid_value',
      param: 'temperature',
    }),
  }),
  row('context-full', 'Says that every prompt is too long, status 400.', {
    canned: refuse(400, {
      message:
        "This model's maximum context length is 8192 tokens. However, your messages resulted in " +
        '9000 tokens. Please reduce the length of the messages.',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      param: 'messages',
    }),
  }),
  row('rate-limited', 'Refuses with status 429 and asks to wait three seconds.', {
    canned: refuse(
      429,
      {
        message: 'Rate limit reached for requests. Please try again in 3s.',
        type: 'requests',
        code: 'rate_limit_exceeded',
        param: null,
      },
      { 'retry-after': '3' },
    ),
  }),
  row('overloaded', 'Is too busy for anyone, status 503.', {
    canned: refuse(503, {
      message: 'The engine is currently overloaded, please try again later.',
      type: 'server_error',
      code: null,
      param: null,
    }),
  }),
  row('bad-credential', 'Rejects even the right credential, status 401.', {
    canned: refuse(401, {
      message: 'Incorrect API key provided.',
      type: 'invalid_request_error',
      code: 'invalid_api_key',
      param: null,
    }),
  }),
  row('redirect', 'Redirects elsewhere, status 302.', {
    canned: {
      status: 302,
      contentType: 'text/plain',
      body: '',
      headers: { location: '/v1/elsewhere' },
    },
  }),
  row('failover', 'Fails on demo and answers on demo-backup.', {
    canned: refuse(500, SERVER_ERROR),
    cannedBy: 'demo',
  }),
]

const MUMBLING: readonly DemoModel[] = [
  row('error-first', 'Status 200, and an error where the answer belongs.', {
    canned: {
      status: 200,
      contentType: 'application/json',
      body: printError(SERVER_ERROR),
      streamBody: `data: ${printError(SERVER_ERROR)}\n\n`,
    },
  }),
  row('empty', 'Status 200 and nothing else.', {
    canned: { status: 200, contentType: 'application/json', body: '', streamBody: '' },
  }),
  row('garbage', 'Status 200 and a web page.', {
    canned: {
      status: 200,
      contentType: 'text/html; charset=utf-8',
      body: '<!doctype html><title>Welcome</title><p>This page is no model.</p>',
    },
  }),
  row('truncated', 'Status 200 and half a JSON.', {
    canned: {
      status: 200,
      contentType: 'application/json',
      body: '{"id":"chatcmpl-demo","object":"chat.completion","choices":[{"index":0,"mess',
      streamBody: 'data: {"id":"chatcmpl-demo","object":"chat.completion.chunk","choi\n\n',
    },
  }),
]

const BREAKING: readonly DemoModel[] = [
  row('slow', 'Answers with a piece every 300 ms.', { pieceMs: 300 }),
  row('hang', 'Never answers.', { silent: true }),
  row('hang-mid-stream', 'Begins to answer, then falls silent.', { breaks: 'hang' }),
  row('cut-stream', 'Begins to answer, then drops the connection.', { breaks: 'cut' }),
  row('end-early', 'Begins to answer, then ends as if that were all.', { breaks: 'end' }),
  row('error-mid-stream', 'Begins to answer, then reports an error.', { breaks: 'error' }),
  row('no-usage', 'Answers, but never reports usage.', { hidesUsage: true }),
]

const OVERLOADED: ErrorFields = {
  message: 'Overloaded',
  type: 'overloaded_error',
  code: null,
  param: null,
}

/** The same in the messages language, with what only happens there. */
const MESSAGES: readonly DemoModel[] = [
  row('messages', 'Answers at once, in the messages language.', {}),
  row('messages-reason', 'Shows some thinking before it answers.', { reasons: true }, DEAR),
  row('messages-failover', 'Fails on demo and answers on demo-backup.', {
    canned: refuse(500, SERVER_ERROR, {}, 'messages'),
    cannedBy: 'demo',
  }),
  row('messages-overloaded', 'Is too busy on demo and answers on demo-backup.', {
    canned: {
      ...refuse(529, OVERLOADED, {}, 'messages'),
      streamBody: `event: error\ndata: ${printError(OVERLOADED, 'messages')}\n\n`,
    },
    cannedBy: 'demo',
  }),
  row('messages-cut-stream', 'Begins to answer, then drops the connection.', { breaks: 'cut' }),
  row('messages-error-mid-stream', 'Begins to answer, then reports an error.', { breaks: 'error' }),
].map((model) => ({ ...model, language: 'messages' }))

/** And in the responses language. */
const RESPONSES: readonly DemoModel[] = [
  row('responses', 'Answers at once, in the responses language.', {}),
  row('responses-reason', 'Shows some reasoning before it answers.', { reasons: true }, DEAR),
  row('responses-failover', 'Fails on demo and answers on demo-backup.', {
    canned: refuse(500, SERVER_ERROR),
    cannedBy: 'demo',
  }),
  row('responses-cut-stream', 'Begins to answer, then drops the connection.', { breaks: 'cut' }),
  row('responses-error-mid-stream', 'Begins to answer, then reports an error.', {
    breaks: 'error',
  }),
].map((model) => ({ ...model, language: 'responses' }))

const LIMITED_SECONDS = 30

/** As the maker of a native agent words it, and counts it in headers (openai/codex, seen 2026-11). */
const LIMITED: Canned = {
  status: 429,
  contentType: 'application/json',
  body: JSON.stringify({
    error: {
      type: 'usage_limit_reached',
      message: 'The usage limit has been reached',
      resets_in_seconds: LIMITED_SECONDS,
    },
  }),
  headers: {
    'x-codex-primary-used-percent': '100',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-after-seconds': String(LIMITED_SECONDS),
  },
}

/** What `demo-native` serves, to sign-ins alone. */
const NATIVE: readonly DemoModel[] = [
  row('native', 'Answers native agents at once.', {}),
  row('native-reason', 'Shows some reasoning before it answers.', { reasons: true }, DEAR),
  row('native-cut-stream', 'Begins to answer, then drops the connection.', { breaks: 'cut' }),
  row('native-error-mid-stream', 'Begins to answer, then reports an error.', { breaks: 'error' }),
  row('native-expired', 'Calls a token expired, status 401, until it is renewed.', {
    finds: 'expired',
  }),
  row('native-limited', 'Says that the limit of a plan is reached, status 429.', {
    canned: LIMITED,
  }),
  row('native-revoked', 'Refuses a sign-in, status 401, which is not renewed any more.', {
    finds: 'revoked',
  }),
].map((model) => ({ ...model, language: 'native' }))

export type OtherTask = Exclude<Task, 'chat'>

export const OTHER_TASKS: readonly OtherTask[] = ['embedding', 'rerank', 'transcription', 'speech']

/** What it does, where that is no chat. */
export function taskOf({ language }: Pick<DemoModel, 'language'>): OtherTask | undefined {
  return OTHER_TASKS.find((task) => task === language)
}

const FREE = toPicoUsd(0)
/** Two cents a million tokens, two dollars a thousand searches, fifteen a million characters, 0.6 cents a minute. */
const EMBED: Price = { input: toPicoUsd(20_000), output: FREE }
const RANK: Price = { input: FREE, output: FREE, search: toPicoUsd(2_000_000_000) }
const SPEAK: Price = { input: FREE, output: FREE, character: toPicoUsd(15_000_000) }
const HEAR: Price = { input: FREE, output: FREE, second: toPicoUsd(100_000_000) }

const FAILING: Behaviour = { canned: refuse(500, SERVER_ERROR), cannedBy: 'demo' }

function taskRow(
  language: OtherTask,
  name: string,
  summary: string,
  [price, behaviour]: readonly [Price, Behaviour],
): DemoModel {
  return { name, summary, price, behaviour, language }
}

/** What is no chat. */
const TASKS: readonly DemoModel[] = [
  taskRow('embedding', 'embed', 'Vectors that lie close where texts share words.', [EMBED, {}]),
  taskRow('embedding', 'embed-failover', 'Fails on demo and answers on demo-backup.', [
    EMBED,
    FAILING,
  ]),
  taskRow('rerank', 'rerank', 'Ranks documents by the words of the question in them.', [RANK, {}]),
  taskRow('rerank', 'rerank-failover', 'Fails on demo and answers on demo-backup.', [
    RANK,
    FAILING,
  ]),
  taskRow('speech', 'speak', 'Beeps as WAV, is silent as MP3, and carries the text.', [SPEAK, {}]),
  taskRow('speech', 'speak-failover', 'Fails on demo and answers on demo-backup.', [
    SPEAK,
    FAILING,
  ]),
  taskRow('speech', 'speak-slow', 'Sends its sound in eight pieces, one every 300 ms.', [
    SPEAK,
    { pieceMs: 300 },
  ]),
  taskRow('speech', 'speak-cut', 'Begins to speak, then drops the connection.', [
    SPEAK,
    { breaks: 'cut' },
  ]),
  taskRow('speech', 'speak-garbage', 'Status 200, and JSON where sound belongs.', [
    SPEAK,
    { canned: { status: 200, contentType: 'application/json', body: '{"audio":"none"}' } },
  ]),
  taskRow('transcription', 'transcribe', 'Reads back what demo/speak said; tells of other files.', [
    HEAR,
    {},
  ]),
  taskRow('transcription', 'transcribe-failover', 'Fails on demo and answers on demo-backup.', [
    HEAR,
    FAILING,
  ]),
]

/** The model of a transcription that names none, where nobody has configured one. */
export const DEMO_TRANSCRIPTION = 'demo/transcribe'

/** It simply answers, with some thinking or without: all others are there for what they do wrong or oddly. */
export function isPlain({ behaviour }: DemoModel): boolean {
  return Object.keys(behaviour).every((name) => name === 'reasons')
}

const ORDINARY: readonly DemoModel[] = [
  row('chat', 'Answers at once, without a model behind it.', {}),
  row('reason', 'Shows some reasoning before it answers.', { reasons: true }, DEAR),
  row('maximal', 'Always uses as many output tokens as it may.', { fills: true }),
  ...BREAKING,
  ...REFUSING,
  ...MUMBLING,
  ...MESSAGES,
  ...RESPONSES,
  ...TASKS,
]

export interface DemoOffer {
  readonly id: DemoName
  readonly region: string
  readonly models: readonly DemoModel[]
  /** Set where it is called by sign-ins. */
  readonly isNative?: true
}

/** What each of the demo's suppliers serves. */
export const demoOffers: Readonly<Record<DemoName, DemoOffer>> = {
  demo: { id: 'demo', region: DEMO_REGIONS.demo, models: ORDINARY },
  'demo-backup': { id: 'demo-backup', region: DEMO_REGIONS['demo-backup'], models: ORDINARY },
  'demo-native': {
    id: 'demo-native',
    region: DEMO_REGIONS['demo-native'],
    models: NATIVE,
    isNative: true,
  },
}

const BY_NAME = new Map([...ORDINARY, ...NATIVE].map((model) => [model.name, model]))

export function findDemoModel(name: string): DemoModel | undefined {
  return BY_NAME.get(name)
}
