// Decides what the demo supplier says. No model runs: the answer follows from the request alone, so
// that the same request always gets the same answer.
import { createHash } from 'node:crypto'
import { DEMO_LIMITS, type Behaviour } from './models.ts'
import { badRequest } from './refusal.ts'
import type { DemoRequest, Message, Tool } from './request.ts'
import { sample } from './sample.ts'
import { countPrompt, countTokens, cutToTokens, quote } from './text.ts'

export interface Call {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Choice {
  readonly index: number
  readonly reasoning: string
  /** Null beside tool calls. */
  readonly content: string | null
  readonly calls: readonly Call[]
  readonly finish: 'stop' | 'length' | 'tool_calls'
  readonly tokens: number
  readonly reasoningTokens: number
}

interface Thought {
  readonly said: string
  readonly spent: number
  /** Tokens that remain for the answer. */
  readonly left: number
}

type Draft = { readonly text: string } | { readonly tools: readonly Tool[] }

const LABEL = 'Demo supplier: no model ran.'
const REASONING = 'Demo reasoning: no model ran, so there was nothing to think about.'
const EXACTLY = /reply with exactly: ?([\s\S]*)$/i
const ECHO_CHARACTERS_MAX = 200
const RESULT_CHARACTERS_MAX = 2000
const PARALLEL_CALLS_MAX = 16
/** Over all choices: the text is made in memory. */
const FILL_TOKENS_MAX = 131_072

export function answer(request: DemoRequest, behaviour: Behaviour): readonly Choice[] {
  checkWindow(request)
  const indexes = Array.from({ length: request.choices }, (_, index) => index)
  if (behaviour.fills) return indexes.map((index) => fillChoice(request, index))
  const draft = compose(request)
  const reasoning = behaviour.reasons || request.reasons ? REASONING : ''
  const calls = 'tools' in draft ? draft.tools.map(callOf) : []
  return indexes.map((index) =>
    'tools' in draft
      ? callChoice(request, index, reasoning, calls)
      : textChoice(request, index, reasoning, draft.text),
  )
}

/** As a model with a window would: what bounds a call must hold here too. */
function checkWindow(request: DemoRequest): void {
  const { contextWindow, outputCeiling } = DEMO_LIMITS
  const prompt = countPrompt(request)
  const room = Math.min(request.maximum ?? outputCeiling, outputCeiling)
  if (prompt + room <= contextWindow) return
  throw badRequest(
    `This model's maximum context length is ${contextWindow} tokens. However, your messages resulted in ${prompt} tokens. Please reduce the length of the messages.`,
    'messages',
    'context_length_exceeded',
  )
}

/** The first rule that applies decides; an order to call a tool outranks what the user wrote. */
function compose(request: DemoRequest): Draft {
  const user = request.messages.findLast((message) => message.role === 'user')
  const forced = forcedTools(request, user)
  if (forced.length > 0) return { tools: forced }
  const results = trailingResults(request.messages)
  if (results.length > 0) return { text: shape(request, sayResults(results)) }
  const exactly = EXACTLY.exec(user?.text ?? '')?.[1]
  if (exactly !== undefined) return { text: exactly }
  const mentioned = request.toolChoice.mode === 'auto' ? mentionedTools(request, user) : []
  if (mentioned.length > 0) return { tools: mentioned }
  return { text: shape(request, sayEcho(user)) }
}

function forcedTools(request: DemoRequest, user: Message | undefined): readonly Tool[] {
  const choice = request.toolChoice
  if (choice.mode === 'named') return request.tools.filter((tool) => tool.name === choice.name)
  if (choice.mode !== 'required') return []
  const mentioned = mentionedTools(request, user)
  return mentioned.length > 0 ? mentioned : request.tools.slice(0, 1)
}

/** A name counts as a word: the tool `read` is not meant by `already`. */
function mentionedTools(request: DemoRequest, user: Message | undefined): readonly Tool[] {
  const text = user?.text ?? ''
  const mentioned = request.tools.filter((tool) =>
    new RegExp(`(?<![\\w-])${RegExp.escape(tool.name)}(?![\\w-])`, 'u').test(text),
  )
  return mentioned.slice(0, request.parallelCalls ? PARALLEL_CALLS_MAX : 1)
}

function trailingResults(messages: readonly Message[]): readonly Message[] {
  const before = messages.findLastIndex((message) => message.role !== 'tool')
  return messages.slice(before + 1)
}

function sayResults(results: readonly Message[]): string {
  const quoted = results.map((result) => quote(result.text, RESULT_CHARACTERS_MAX))
  return `${LABEL} The tool answered: ${quoted.join(' and ')}.`
}

function sayEcho(user: Message | undefined): string {
  if (!user) return `${LABEL} There was no user message.`
  const parts = [
    user.images > 0 ? plural(user.images, 'image') : '',
    user.audio > 0 ? plural(user.audio, 'audio clip') : '',
    user.files > 0 ? plural(user.files, 'file') : '',
  ].filter((part) => part !== '')
  const beside = parts.length > 0 ? `, with ${parts.join(' and ')}` : ''
  return `${LABEL} You said: ${quote(user.text, ECHO_CHARACTERS_MAX)}${beside}.`
}

function plural(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`
}

function shape(request: DemoRequest, sentence: string): string {
  if (request.format.type === 'json_schema') return JSON.stringify(sample(request.format.schema))
  if (request.format.type === 'json_object') {
    return JSON.stringify({ demo: true, message: sentence })
  }
  return sentence
}

function callOf(tool: Tool, position: number): Call {
  return {
    id: String(position),
    name: tool.name,
    arguments: JSON.stringify(sample(tool.parameters)),
  }
}

function think(request: DemoRequest, reasoning: string): Thought {
  const most = request.maximum ?? DEMO_LIMITS.outputCeiling
  const said = cutToTokens(reasoning, most)
  const spent = countTokens(said)
  return { said, spent, left: most - spent }
}

function textChoice(request: DemoRequest, index: number, reasoning: string, text: string): Choice {
  const { said, spent, left } = think(request, reasoning)
  const stops = request.stop.map((stop) => text.indexOf(stop)).filter((place) => place >= 0)
  const wanted = text.slice(0, Math.min(text.length, ...stops))
  const content = cutToTokens(wanted, left)
  return {
    index,
    reasoning: said,
    content,
    calls: [],
    finish: content === wanted && said === reasoning ? 'stop' : 'length',
    tokens: spent + countTokens(content),
    reasoningTokens: spent,
  }
}

function callChoice(
  request: DemoRequest,
  index: number,
  reasoning: string,
  wanted: readonly Call[],
): Choice {
  const { said, spent, left } = think(request, reasoning)
  const calls: Call[] = []
  let tokens = 0
  let isWhole = true
  for (const call of wanted) {
    const name = countTokens(call.name)
    if (tokens + name > left) isWhole = false
    if (!isWhole) break
    const fitting = cutToTokens(call.arguments, left - tokens - name)
    calls.push({ ...call, id: callId(request, index, call.id), arguments: fitting })
    tokens += name + countTokens(fitting)
    isWhole = fitting === call.arguments
  }
  return {
    index,
    reasoning: said,
    content: null,
    calls,
    finish: isWhole ? 'tool_calls' : 'length',
    tokens: spent + tokens,
    reasoningTokens: spent,
  }
}

function callId(request: DemoRequest, index: number, position: string): string {
  const seed = `${request.fingerprint}/${index}/${position}`
  return `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`
}

function fillChoice(request: DemoRequest, index: number): Choice {
  const tokens = request.maximum ?? DEMO_LIMITS.outputCeiling
  if (tokens * request.choices > FILL_TOKENS_MAX) {
    const most = `This model supports at most ${FILL_TOKENS_MAX} completion tokens.`
    throw badRequest(`max_tokens is too large: ${tokens}. ${most}`, 'max_tokens')
  }
  const content = `${LABEL} `.padEnd(tokens * 4, 'all ').slice(0, tokens * 4)
  return {
    index,
    reasoning: '',
    content,
    calls: [],
    finish: 'length',
    tokens,
    reasoningTokens: 0,
  }
}
