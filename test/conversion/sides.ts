// Each language by its id: what a fixture leaves out, how a supplier streams an answer, and what a client makes of a
// stream. Chats and messages stand in here.
import { HEAD, framesOf } from './roster.ts'
import { halves, join, told, without, type Json, type Side } from './side.ts'
import { responses } from './side-responses.ts'

export type { Json, Side } from './side.ts'

const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const MESSAGES_USAGE = { input_tokens: 10, output_tokens: 5 }

const chat: Side = {
  request: { model: 'our-model', max_completion_tokens: 1024 },
  plain: (request) => ({
    ...lenient(without(request, 'stream', 'stream_options', 'model')),
    messages: (request['messages'] as Json[]).map((message) => {
      const { content } = message
      if (!Array.isArray(content) || content.length !== 1) return told(message)
      const [part] = content as Json[]
      const isPlain = part?.['type'] === 'text' && Object.keys(part).length === 2
      return told(isPlain ? { ...message, content: part['text'] } : message)
    }),
  }),
  answer: ({ message, finish_reason, usage = CHAT_USAGE, ...choice }) => ({
    id: `chatcmpl-${HEAD.id}`,
    object: 'chat.completion',
    created: HEAD.created,
    model: HEAD.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, ...(message as Json) },
        finish_reason,
        logprobs: null,
        ...choice,
      },
    ],
    usage,
  }),
  brief: (answer) => {
    const [{ message, index: _, logprobs: __, ...choice } = {}] = answer['choices'] as Json[]
    const { role: ___, content, ...said } = message as Json
    // A stream begins with an empty content, whatever follows.
    const words = told({ ...said, content: content === '' ? null : content })
    return told({ ...choice, message: words, usage: answer['usage'] })
  },
  stream: ({ message, usage = CHAT_USAGE, ...choice }) => {
    const said = message as Json
    const { content, reasoning, reasoning_content, reasoning_details, tool_calls, refusal } = said
    const deltas: Json[] = [{ role: 'assistant', content: '' }]
    for (const text of halves(reasoning_content)) deltas.push({ reasoning_content: text })
    if (reasoning_content === undefined)
      for (const text of halves(reasoning)) deltas.push({ reasoning: text })
    if (reasoning_details !== undefined) deltas.push({ reasoning_details })
    for (const text of halves(content)) deltas.push({ content: text })
    for (const text of halves(refusal)) deltas.push({ refusal: text })
    for (const [index, call] of ((tool_calls ?? []) as Json[]).entries()) {
      const { arguments: input, ...named } = call['function'] as Json
      deltas.push({
        tool_calls: [{ ...call, index, function: { ...named, arguments: '' } }],
      })
      for (const piece of halves(input))
        deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] })
    }
    return chat.frames([
      ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
      { choices: [{ index: 0, delta: {}, ...choice }] },
      { choices: [], usage },
    ])
  },
  frames: (frames) =>
    [
      ...frames.map((frame) => ({
        id: `chatcmpl-${HEAD.id}`,
        object: 'chat.completion.chunk',
        created: 1_799_999_999,
        model: 'their-model',
        ...frame,
      })),
      '[DONE]',
    ]
      .map((frame) => `data: ${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n\n`)
      .join(''),
  collect: (text) => {
    const message: Json = {}
    const calls: Json[] = []
    const brief: Json = {}
    for (const frame of framesOf(text).filter((frame) => frame !== '[DONE]')) {
      const chunk = JSON.parse(frame) as Json
      if (chunk['usage'] !== undefined) brief['usage'] = chunk['usage']
      const [choice] = chunk['choices'] as Json[]
      if (choice === undefined) continue
      const { delta, index: _, ...rest } = choice
      Object.assign(brief, told(rest))
      const { role: __, tool_calls, ...said } = delta as Json
      for (const [name, value] of Object.entries(told(said)))
        message[name] = join(message[name], value)
      for (const call of (tool_calls ?? []) as Json[]) addCall(calls, call)
    }
    return { ...brief, message: calls.length > 0 ? { ...message, tool_calls: calls } : message }
  },
  goOn: ({ message }) => {
    const calls = ((message as Json)['tool_calls'] ?? []) as Json[]
    return {
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', ...(message as Json) },
        ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'Done' })),
        { role: 'user', content: 'And?' },
      ],
    }
  },
  echoed: (request) => {
    const [, { role: _, ...message } = {}] = request['messages'] as Json[]
    return { message: told(message) }
  },
}

/** As the maker's own client adds them up: by index, which must be there. */
function addCall(calls: Json[], { index, function: told, ...rest }: Json): void {
  const at = index as number
  const before = calls[at]
  const { arguments: piece, ...named } = told as Json
  if (before === undefined) {
    calls[at] = { ...rest, function: { ...named, arguments: piece } }
    return
  }
  const known = before['function'] as Json
  known['arguments'] = `${String(known['arguments'])}${String(piece)}`
}

const messages: Side = {
  request: { model: 'our-model', max_tokens: 1024 },
  plain: (request) =>
    told({
      ...lenient(without(request, 'stream', 'model')),
      system: blocksOf(request['system']),
      messages: (request['messages'] as Json[]).map((message) => ({
        ...message,
        content: (blocksOf(message['content']) as Json[]).map((block) =>
          told({ ...block, content: blocksOf(block['content']) }),
        ),
      })),
    }),
  answer: ({ usage = MESSAGES_USAGE, ...brief }) => ({
    id: `msg_${HEAD.id}`,
    type: 'message',
    role: 'assistant',
    model: HEAD.model,
    stop_sequence: null,
    ...brief,
    usage,
  }),
  brief: (answer) => told(without(answer, 'id', 'type', 'role', 'model')),
  stream: ({ content, usage = MESSAGES_USAGE, ...delta }) => {
    const { output_tokens, ...input } = usage as Json
    return messages.frames([
      {
        type: 'message_start',
        message: {
          id: 'msg_theirs',
          type: 'message',
          role: 'assistant',
          model: 'their-model',
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...input, output_tokens: 1 },
        },
      },
      { type: 'ping' },
      ...(content as Json[]).flatMap(blockFrames),
      {
        type: 'message_delta',
        delta: { stop_sequence: null, ...delta },
        usage: { ...(usage as Json), output_tokens },
      },
    ])
  },
  frames: (frames) =>
    [...frames, { type: 'message_stop' }]
      .map((frame) => `event: ${String(frame['type'])}\ndata: ${JSON.stringify(frame)}\n\n`)
      .join(''),
  collect: (text) => {
    const content: Json[] = []
    const brief: Json = {}
    for (const frame of framesOf(text)) {
      const event = JSON.parse(frame) as Json
      const at = event['index'] as number
      const delta = event['delta'] as Json
      if (event['type'] === 'message_start') brief['usage'] = (event['message'] as Json)['usage']
      if (event['type'] === 'content_block_start')
        content[at] = { ...(event['content_block'] as Json) }
      if (event['type'] === 'content_block_delta') addDelta(content[at] as Json, delta)
      if (event['type'] === 'content_block_stop') closeBlock(content[at] as Json)
      if (event['type'] === 'message_delta')
        Object.assign(brief, told(delta), { usage: event['usage'] })
    }
    return { content, ...brief }
  },
  goOn: ({ content }) => ({
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          ...(content as Json[])
            .filter(({ type }) => type === 'tool_use')
            .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Done' })),
          { type: 'text', text: 'And?' },
        ],
      },
    ],
  }),
  echoed: (request) => ({ content: (request['messages'] as Json[])[1]?.['content'] }),
}

const DELTAS: Readonly<Record<string, readonly [from: string, to: string]>> = {
  text_delta: ['text', 'text'],
  thinking_delta: ['thinking', 'thinking'],
  signature_delta: ['signature', 'signature'],
  input_json_delta: ['partial_json', 'json'],
}

function addDelta(block: Json, delta: Json): void {
  const [from, to] = DELTAS[String(delta['type'])] ?? ['', '']
  block[to] = join(block[to], delta[from])
}

function closeBlock(block: Json): void {
  const { json } = block
  delete block['json']
  if (json !== undefined) block['input'] = JSON.parse(json as string)
}

function blockFrames(block: Json, index: number): readonly Json[] {
  const { type, text, thinking, signature, input, ...rest } = block
  const start: Json = { type, ...rest }
  const deltas: Json[] = []
  if (text !== undefined) {
    start['text'] = ''
    for (const piece of halves(text)) deltas.push({ type: 'text_delta', text: piece })
  }
  if (thinking !== undefined) {
    Object.assign(start, { thinking: '', signature: '' })
    for (const piece of halves(thinking)) deltas.push({ type: 'thinking_delta', thinking: piece })
    deltas.push({ type: 'signature_delta', signature })
  }
  if (input !== undefined) {
    start['input'] = {}
    for (const piece of halves(JSON.stringify(input)))
      deltas.push({ type: 'input_json_delta', partial_json: piece })
  }
  return [
    { type: 'content_block_start', index, content_block: start },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** A tool that is not strict, said or not: in these languages that is the same. */
function lenient(request: Json): Json {
  if (!Array.isArray(request['tools'])) return request
  const tools = (request['tools'] as Json[]).map(({ function: named, strict, ...tool }) => ({
    ...tool,
    ...(strict !== true ? {} : { strict }),
    ...(named === undefined ? {} : { function: lenientFunction(named as Json) }),
  }))
  return { ...request, tools }
}

function lenientFunction({ strict, ...named }: Json): Json {
  return strict === true ? { ...named, strict } : named
}

function blocksOf(content: unknown): unknown {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** A language that is not in here is tried with its fixtures as they stand. */
const PLAIN: Side = {
  request: {},
  plain: (request) => request,
  answer: (answer) => answer,
  brief: (answer) => answer,
  stream: () => '',
  frames: (frames) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''),
  collect: () => ({}),
  goOn: () => ({}),
  echoed: (request) => request,
}

export function sideOf(id: string): Side {
  if (id === 'openai-chat') return chat
  if (id === 'anthropic-messages') return messages
  if (id === 'openai-responses') return responses
  return PLAIN
}
