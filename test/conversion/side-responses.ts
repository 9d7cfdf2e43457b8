// Responses as their clients and suppliers speak them: items with ids of their own, streamed one by one and told once
// more, whole, at the end. A client that adds up the pieces must get what it is told whole.
import { framesOf, HEAD } from './roster.ts'
import { halves, join, told, without, type Json, type Side } from './side.ts'

const USAGE = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
}

/** What an answer repeats of a request that a conversion has never seen whole. */
const REPEATED = {
  error: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  temperature: null,
  top_p: null,
  text: { format: { type: 'text' } },
  store: false,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  truncation: 'disabled',
}

export const responses: Side = {
  // Nobody is asked to keep anything: what is converted is told whole, every time.
  request: { model: 'our-model', max_output_tokens: 1024, store: false },
  plain: (request) =>
    told({
      ...without(request, 'stream', 'model', 'instructions'),
      input: plainInput(request['instructions'], request['input']),
    }),
  answer: ({ output, status = 'completed', incomplete_details = null, usage = USAGE }) => ({
    id: `resp_${HEAD.id}`,
    object: 'response',
    created_at: HEAD.created,
    status,
    model: HEAD.model,
    output: (output as Json[]).map((item, place, { length }) =>
      itemOf(item, place, place === length - 1 ? String(status) : 'completed'),
    ),
    usage,
    incomplete_details,
    ...REPEATED,
  }),
  brief: ({ output, status, incomplete_details, usage }) =>
    told({
      output: (output as Json[]).map(briefItem),
      status: status === 'completed' ? null : status,
      incomplete_details,
      usage,
    }),
  stream: (brief) => {
    const { output } = responses.answer(brief)
    const { status = 'completed' } = brief
    return responses.frames([
      ...(output as Json[]).flatMap(itemFrames),
      { type: `response.${String(status)}`, response: responses.answer(brief) },
    ])
  },
  frames: (frames) => {
    const begun = { ...responses.answer({ output: [], usage: null }), status: 'in_progress' }
    const items = frames.filter(({ type }) => type === 'response.output_item.done')
    const whole = { output: items.toSorted(byPlace).map(({ item }) => item) }
    const isEnded = ENDS.has(String(frames.at(-1)?.['type']))
    return [
      { type: 'response.created', response: begun },
      { type: 'response.in_progress', response: begun },
      ...frames,
      ...(isEnded ? [] : [{ type: 'response.completed', response: responses.answer(whole) }]),
    ]
      .map((frame: Json, place) => ({ ...frame, sequence_number: place }))
      .map((frame: Json) => `event: ${String(frame['type'])}\ndata: ${JSON.stringify(frame)}\n\n`)
      .join('')
  },
  collect: (text) => {
    const output: Json[] = []
    let whole: Json | undefined
    for (const frame of framesOf(text)) {
      const event = JSON.parse(frame) as Json
      addEvent(output, event)
      if (ENDS.has(String(event['type']))) whole = event['response'] as Json
    }
    if (whole === undefined) return {}
    mustEqual(whole['output'], output, 'what was told piece by piece is told whole at the end')
    return responses.brief(whole)
  },
  goOn: ({ output }) => ({
    input: [
      { role: 'user', content: 'Go' },
      ...(output as Json[]).map((item) =>
        item['type'] === 'message' ? { ...item, role: 'assistant' } : item,
      ),
      ...(output as Json[])
        .filter(({ type }) => type === 'function_call')
        .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'Done' })),
      { role: 'user', content: 'And?' },
    ],
  }),
  echoed: (request) => {
    const [, ...items] = request['input'] as Json[]
    const end = items.findIndex(
      ({ type, role }) => type === 'function_call_output' || role === 'user',
    )
    return { output: items.slice(0, end).map(briefItem) }
  },
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function byPlace(one: Json, other: Json): number {
  return Number(one['output_index']) - Number(other['output_index'])
}

const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  function_call: 'fc',
  reasoning: 'rs',
}

function itemOf(item: Json, place: number, status: string): Json {
  const { type, content } = item
  const id = `${PREFIXES[String(type)] ?? 'item'}_${HEAD.id}_${place}`
  if (type === 'reasoning') return { id, summary: [], ...item }
  if (type !== 'message') return { id, status, ...item }
  const parts = (content as Json[]).map((part) =>
    part['type'] === 'output_text' ? { annotations: [], logprobs: [], ...part } : part,
  )
  return { id, status, role: 'assistant', ...item, content: parts }
}

/** An item without what every item has. */
function briefItem(item: Json): Json {
  const { type = 'message', content, ...rest } = told(without(item, 'id', 'status', 'role'))
  if (type !== 'message') return { type, ...told({ ...rest, content }) }
  const parts = (content as Json[]).map(plainPart)
  return { type, ...rest, content: parts }
}

/** Empty lists and the usual detail say nothing. */
function plainPart(part: Json): Json {
  const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0
  const said = Object.entries(told(part)).filter(
    ([name, value]) => !isEmpty(value) && !(name === 'detail' && value === 'auto'),
  )
  return Object.fromEntries(said)
}

/** Instructions are what a system message before all others says. */
function plainInput(instructions: unknown, input: unknown): readonly Json[] {
  const listed =
    typeof input === 'string' ? [{ role: 'user', content: input }] : (input as readonly Json[])
  const all =
    typeof instructions === 'string'
      ? [{ role: 'system', content: instructions }, ...listed]
      : listed
  const items = all.map(plainInputItem)
  const first = items.findIndex(({ role }) => role !== 'system')
  const leading = first < 0 ? items : items.slice(0, first)
  if (leading.length === 0) return items
  const content = leading.flatMap((item) => item['content'] as Json[])
  return [{ role: 'system', content }, ...items.slice(leading.length)]
}

function plainInputItem(item: Json): Json {
  const { type = 'message', role, content, output, ...rest } = without(item, 'id', 'status')
  if (type === 'function_call_output') return { type, ...rest, output: plainOutput(output) }
  if (type !== 'message') return told({ type, ...rest, content })
  const kind = role === 'assistant' ? 'output_text' : 'input_text'
  const parts = typeof content === 'string' ? [{ type: kind, text: content }] : (content as Json[])
  return {
    ...told(rest),
    role: role === 'developer' ? 'system' : role,
    content: parts.map(plainPart),
  }
}

function plainOutput(output: unknown): unknown {
  if (!Array.isArray(output)) return output
  const parts = (output as Json[]).map(plainPart)
  if (parts.length === 0) return ''
  const [first] = parts
  return parts.length === 1 && first?.['type'] === 'input_text' ? first['text'] : parts
}

function itemFrames(item: Json, output_index: number): readonly Json[] {
  const { id: item_id, type } = item
  const at = { item_id, output_index }
  const begun: Json = { ...item, ...(type !== 'reasoning' && { status: 'in_progress' }) }
  const inside: Json[] = []
  if (type === 'message') {
    begun['content'] = []
    for (const [place, part] of (item['content'] as Json[]).entries())
      inside.push(...partFrames(part, { ...at, content_index: place }))
  }
  if (type === 'function_call') {
    begun['arguments'] = ''
    const { arguments: input } = item
    for (const delta of halves(input))
      inside.push({ type: 'response.function_call_arguments.delta', ...at, delta })
    inside.push({ type: 'response.function_call_arguments.done', ...at, arguments: input })
  }
  if (type === 'reasoning') {
    Object.assign(begun, { summary: [], encrypted_content: null })
    for (const [place, part] of (item['summary'] as Json[]).entries())
      inside.push(...thoughtFrames(part, { ...at, summary_index: place }))
    if (item['content'] !== undefined) begun['content'] = []
    for (const [place, part] of ((item['content'] ?? []) as Json[]).entries())
      inside.push(...partFrames(part, { ...at, content_index: place }))
  }
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...inside,
    { type: 'response.output_item.done', output_index, item },
  ]
}

/** How the pieces of each kind of part are called, and where its words stand. */
const PIECES: Readonly<Record<string, readonly [event: string, field: string]>> = {
  output_text: ['output_text', 'text'],
  refusal: ['refusal', 'refusal'],
  reasoning_text: ['reasoning_text', 'text'],
}

function partFrames(part: Json, at: Json): readonly Json[] {
  const [event, field] = PIECES[String(part['type'])] ?? ['', '']
  const words = part[field]
  const beside = event === 'output_text' ? { logprobs: [] } : {}
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, [field]: '' } },
    ...halves(words).map((delta) => ({
      type: `response.${event}.delta`,
      ...at,
      delta,
      ...beside,
      obfuscation: 'x7Kq',
    })),
    { type: `response.${event}.done`, ...at, [field]: words, ...beside },
    { type: 'response.content_part.done', ...at, part },
  ]
}

function thoughtFrames(part: Json, at: Json): readonly Json[] {
  const { text } = part
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    ...halves(text).map((delta) => ({
      type: 'response.reasoning_summary_text.delta',
      ...at,
      delta,
      obfuscation: 'q2',
    })),
    { type: 'response.reasoning_summary_text.done', ...at, text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ]
}

/** As clients add them up: each piece goes to the item and the part that it names, which must have begun. */
function addEvent(output: Json[], event: Json): void {
  const { type, output_index, content_index, summary_index, delta, part, item } = event
  const at = output[output_index as number] as Json
  const list = (name: string): Json[] => at[name] as Json[]
  const add = (to: Json, name: string): void => {
    to[name] = join(to[name], delta)
  }
  switch (type) {
    case 'response.output_item.added':
      output[output_index as number] = structuredClone(item) as Json
      break
    case 'response.content_part.added':
      list('content')[content_index as number] = { ...(part as Json) }
      break
    case 'response.output_text.delta':
      add(list('content')[content_index as number]!, 'text')
      break
    case 'response.refusal.delta':
      add(list('content')[content_index as number]!, 'refusal')
      break
    case 'response.function_call_arguments.delta':
      add(at, 'arguments')
      break
    case 'response.reasoning_summary_part.added':
      list('summary')[summary_index as number] = { ...(part as Json) }
      break
    case 'response.reasoning_summary_text.delta':
      add(list('summary')[summary_index as number]!, 'text')
      break
    case 'response.output_item.done':
      mustEqual(wordsOf(at), wordsOf(item as Json), 'an item ends as what its pieces made of it')
      output[output_index as number] = item as Json
      break
  }
}

/** What of an item comes in pieces. */
function wordsOf({ content, summary, arguments: input }: Json): unknown {
  return told({ content, summary, arguments: input })
}

function mustEqual(one: unknown, other: unknown, rule: string): void {
  if (!Bun.deepEquals(one, other))
    throw new Error(`not so: ${rule}: ${JSON.stringify([one, other])}`)
}
