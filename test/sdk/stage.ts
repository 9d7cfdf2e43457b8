// Suppliers that tell one story in any language, and read what they were asked in words of no language at all: so
// that a test is about a client, whoever answers it.
import { startGateway, supplierAt, type Gateway } from '../fakes/gateway.ts'
import {
  begin,
  end,
  event,
  message,
  messagesAt,
  overloaded,
  reason,
  say,
  START,
  STOP,
} from '../fakes/messages.ts'
import {
  beginText,
  callEvents,
  callItem,
  completed,
  endText,
  errorEvent,
  messageItem,
  PREAMBLE,
  printEvents,
  response,
  responsesAt,
} from '../fakes/response-supplier.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
  type Script,
} from '../fakes/supplier.ts'
import { tidy } from '../fakes/street.ts'

/** The language of a supplier. */
export type Style = 'chat' | 'messages' | 'responses'
export const STYLES: readonly Style[] = ['chat', 'messages', 'responses']

export interface Call {
  readonly id: string
  readonly name: string
  readonly input: object
}

/** A text, or a call of a tool. */
export type Answer = string | Call

/** What a supplier was asked. */
export interface Asked {
  readonly model: string
  readonly stream: boolean
  readonly system: string
  readonly tools: readonly string[]
  /** The client insists on a call. */
  readonly isForced: boolean
  /** The schema that the answer is to have. */
  readonly schema: unknown
  /** Calls of earlier turns, by their ids. */
  readonly calls: readonly string[]
  readonly results: readonly { readonly id: string; readonly text: string }[]
  /** As data addresses. */
  readonly images: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}

/** Reads a request by the language that its supplier speaks. */
export function readAsked(style: Style, { body }: FakeRequest): Asked {
  const fields = fieldsOf(JSON.parse(body.toString()))
  const common = { model: String(fields['model']), stream: fields['stream'] === true }
  return { ...common, ...READERS[style](fields) }
}

const READERS = { chat: readChat, messages: readMessages, responses: readResponses }

function readChat(fields: Fields): Omit<Asked, 'model' | 'stream'> {
  const messages = listOf(fields['messages'])
  const of = (role: string): readonly Fields[] => messages.filter((each) => each['role'] === role)
  const choice = fields['tool_choice']
  return {
    system: [...of('system'), ...of('developer')].map((each) => textOf(each['content'])).join('\n'),
    tools: listOf(fields['tools']).map((tool) => String(fieldsOf(tool['function'])['name'])),
    isForced: choice === 'required' || typeof choice === 'object',
    schema: fieldsOf(fieldsOf(fields['response_format'])['json_schema'])['schema'],
    calls: of('assistant').flatMap((each) =>
      listOf(each['tool_calls']).map(({ id }) => String(id)),
    ),
    results: of('tool').map((each) => ({
      id: String(each['tool_call_id']),
      text: textOf(each['content']),
    })),
    images: of('user')
      .flatMap((each) => listOf(each['content']))
      .filter(({ type }) => type === 'image_url')
      .map((part) => String(fieldsOf(part['image_url'])['url'])),
  }
}

function readMessages(fields: Fields): Omit<Asked, 'model' | 'stream'> {
  const messages = listOf(fields['messages'])
  const blocks = messages.flatMap((each) => listOf(each['content']))
  const of = (type: string): readonly Fields[] => blocks.filter((block) => block['type'] === type)
  const later = messages.filter((each) => each['role'] === 'system')
  const choice = fieldsOf(fields['tool_choice'])['type']
  return {
    system: [fields['system'], ...later.map((each) => each['content'])].map(textOf).join('\n'),
    tools: listOf(fields['tools']).map((tool) => String(tool['name'])),
    isForced: choice === 'any' || choice === 'tool',
    schema: fieldsOf(fieldsOf(fields['output_config'])['format'])['schema'],
    calls: of('tool_use').map(({ id }) => String(id)),
    results: of('tool_result').map((block) => ({
      id: String(block['tool_use_id']),
      text: textOf(block['content']),
    })),
    images: of('image').map((block) => {
      const source = fieldsOf(block['source'])
      return `data:${String(source['media_type'])};base64,${String(source['data'])}`
    }),
  }
}

function readResponses(fields: Fields): Omit<Asked, 'model' | 'stream'> {
  const { input, instructions, tool_choice: choice } = fields
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : listOf(input)
  const of = (name: string, ...values: readonly string[]): readonly Fields[] =>
    items.map(fieldsOf).filter((item) => values.includes(String(item[name])))
  const told = of('role', 'system', 'developer').map((item) => item['content'])
  return {
    system: [instructions, ...told].map(textOf).join('\n'),
    tools: listOf(fields['tools']).map((tool) => String(tool['name'])),
    isForced: choice === 'required' || typeof choice === 'object',
    schema: fieldsOf(fieldsOf(fields['text'])['format'])['schema'],
    calls: of('type', 'function_call').map((item) => String(item['call_id'])),
    results: of('type', 'function_call_output').map((item) => ({
      id: String(item['call_id']),
      text: textOf(item['output']),
    })),
    images: of('role', 'user')
      .flatMap((item) => listOf(item['content']))
      .filter(({ type }) => type === 'input_image')
      .map((part) => String(part['image_url'])),
  }
}

/** Answers as the plot has it, in the language of the supplier, whole or as a stream. */
export function play(style: Style, plot: (asked: Asked) => Answer): Script {
  return (request, reply) => {
    const asked = readAsked(style, request)
    const answer = plot(asked)
    if (!asked.stream) return reply.json(200, WHOLE[style](answer))
    const stream = reply.stream()
    for (const frame of STREAMED[style](answer)) stream.send(frame)
    return stream.end()
  }
}

const WHOLE = { chat: wholeChat, messages: wholeMessage, responses: wholeResponse }
const STREAMED = { chat: chatFrames, messages: messageFrames, responses: responseFrames }

function toolCall({ id, name, input }: Call): object {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function wholeChat(answer: Answer): object {
  if (typeof answer === 'string') return completion(answer)
  const told = { role: 'assistant', content: null, tool_calls: [toolCall(answer)] }
  const choices = [{ index: 0, message: told, finish_reason: 'tool_calls' }]
  return { ...completion(''), choices }
}

function wholeMessage(answer: Answer): object {
  if (typeof answer === 'string') return message(answer)
  const content = [{ type: 'tool_use', ...answer }]
  return message('', { content, stop_reason: 'tool_use' })
}

function itemOf(answer: Answer): Fields {
  if (typeof answer === 'string') return messageItem(answer)
  return callItem(answer.id, answer.name, JSON.stringify(answer.input))
}

function wholeResponse(answer: Answer): object {
  return response([itemOf(answer)])
}

/** Two pieces, so that a client has something to join. */
function halve(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2)
  return [text.slice(0, middle), text.slice(middle)]
}

function chatFrames(answer: Answer): readonly string[] {
  const role = chunk({ role: 'assistant', content: '' })
  const ending = [USAGE_CHUNK, DONE]
  if (typeof answer === 'string')
    return [
      role,
      ...halve(answer).map((content) => chunk({ content })),
      chunk({}, 'stop'),
      ...ending,
    ]
  const { id, name, input } = answer
  const first = { index: 0, id, type: 'function', function: { name, arguments: '' } }
  const pieces = halve(JSON.stringify(input)).map((text) =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
  )
  return [role, chunk({ tool_calls: [first] }), ...pieces, chunk({}, 'tool_calls'), ...ending]
}

/** What is told of the output at the beginning counts for nothing, and some clients would add it up. */
const OPENING = START.replace('"output_tokens":1', '"output_tokens":0')

function messageFrames(answer: Answer): readonly string[] {
  if (typeof answer === 'string') {
    const said = halve(answer).map((text) => say(text))
    return [OPENING, begin(0), ...said, end(0), reason(), STOP]
  }
  const { id, name, input } = answer
  const pieces = halve(JSON.stringify(input)).map((text) =>
    event('content_block_delta', {
      index: 0,
      delta: { type: 'input_json_delta', partial_json: text },
    }),
  )
  const block = { type: 'tool_use', id, name, input: {} }
  return [OPENING, begin(0, block), ...pieces, end(0), reason('tool_use'), STOP]
}

function responseFrames(answer: Answer): readonly string[] {
  const item = itemOf(answer)
  const events =
    typeof answer === 'string'
      ? [...beginText(halve(answer)), ...endText(answer)]
      : callEvents(item)
  return [...PREAMBLE, ...events, completed([item])].map((event, place) =>
    printEvents([event], place),
  )
}

const BEGINNINGS: Readonly<Record<Style, string>> = {
  chat: chunk({ role: 'assistant', content: '' }) + chunk({ content: 'half' }),
  messages: START + begin(0) + say('half'),
  responses: printEvents([...PREAMBLE, ...beginText(['half'])]),
}

/** Begins to speak, and leaves it at that. */
export function beginTo(style: Style, reply: FakeReply): ReturnType<FakeReply['stream']> {
  const stream = reply.stream()
  stream.send(BEGINNINGS[style])
  return stream
}

const OVERLOADED = { error: { message: 'Overloaded', type: 'overloaded_error' } }
const FAILURES: Readonly<Record<Style, string>> = {
  chat: `data: ${JSON.stringify(OVERLOADED)}\n\n`,
  messages: overloaded(),
  responses: printEvents([errorEvent('Overloaded')], 5),
}

/** Says half of it, and then that it has failed. */
export function failHalfway(style: Style): Script {
  return (_request, reply) => {
    const stream = beginTo(style, reply)
    stream.send(FAILURES[style])
    stream.end()
  }
}

/** Refuses a request by its own words. */
export function refuse(style: Style, words: string): Script {
  const error = { type: 'invalid_request_error', message: words }
  const coded = { error: { ...error, code: 'bad_thing', param: null } }
  const named = { type: 'error', error, request_id: 'req_theirs' }
  return (_request, reply) => reply.json(400, style === 'messages' ? named : coded)
}

const DESCRIBED = { chat: supplierAt, messages: messagesAt, responses: responsesAt }

export interface Stage {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  /** What was asked so far. */
  readonly asked: () => readonly Asked[]
}

/** A gateway in front of one supplier; both are stopped by `closeStreet`. */
export async function openStage(style: Style, script: Script): Promise<Stage> {
  const supplier = tidy(await startFakeSupplier(script))
  const described = DESCRIBED[style](supplier.origin)
  const gateway = tidy(await startGateway({ suppliers: [described] }))
  const asked = (): readonly Asked[] =>
    supplier.requests.map((request) => readAsked(style, request))
  return { gateway, supplier, asked }
}
