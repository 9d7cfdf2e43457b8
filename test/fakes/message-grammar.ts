// The grammar of a stream of messages that the gateway writes, as strict as the strictest client: names of events, their order, whole blocks one
// after another, and what each of them must hold.

interface Frame {
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

type Fields = Readonly<Record<string, unknown>>

const DELTA_TEXTS: Readonly<Record<string, readonly [string, string]>> = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
}
const BEGINNINGS: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text'],
  thinking: ['type', 'thinking', 'signature'],
  tool_use: ['type', 'id', 'name', 'input'],
  redacted_thinking: ['type', 'data'],
}
const STOP_REASONS = new Set<unknown>([
  'end_turn',
  'stop_sequence',
  'max_tokens',
  'tool_use',
  'refusal',
  'pause_turn',
  'model_context_window_exceeded',
])

/** Those that may come in the middle of a call. */
const CUTS = new Set<unknown>(['max_tokens', 'refusal', 'model_context_window_exceeded'])

/** Throws with what is wrong about a stream that has come to its end. Comments and pings may stand between frames. */
export function checkMessageStream(text: string): void {
  const frames = readFrames(text)
  const isCut = CUTS.has(stopReasonOf(frames))
  const rest = checkBlocks(frames, isCut)
  const [delta, stop, ...after] = rest
  must(delta?.type === 'message_delta', `message_delta expected, not ${delta?.type}`)
  checkReason(delta!.data)
  must(stop?.type === 'message_stop', `message_stop expected, not ${stop?.type}`)
  sameKeys(stop!.data, ['type'], 'message_stop')
  must(after.length === 0, `${after[0]?.type} after message_stop`)
}

/** The same of a stream that has failed: it ends with an error wherever it stood, and with nothing else. */
export function checkFailedStream(text: string): void {
  const frames = readFrames(text, ['error'])
  const last = frames.pop()
  must(last?.type === 'error', `error expected at the end, not ${last?.type}`)
  must(asFields(last!.data['error']) !== undefined, 'the error has no fields')
  if (frames.length === 0) return
  const rest = checkBlocks(frames, true)
  must(rest.length === 0 || rest[0]!.type === 'message_delta', `${rest[0]?.type} out of order`)
  must(rest.length <= 1, `${rest[1]?.type} before the error`)
}

const NAMES = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'ping',
])

function readFrames(text: string, others: readonly string[] = []): Frame[] {
  must(text.endsWith('\n\n'), 'the last frame is not ended by an empty line')
  const frames: Frame[] = []
  for (const chunk of text.slice(0, -2).split('\n\n')) {
    const lines = chunk.split('\n').filter((line) => !line.startsWith(':'))
    if (lines.length === 0) continue
    const [name = '', data = '', ...more] = lines
    must(
      more.length === 0 && name.startsWith('event: ') && data.startsWith('data: '),
      `not an event line and a data line: ${chunk.slice(0, 200)}`,
    )
    const type = name.slice('event: '.length)
    must(NAMES.has(type) || others.includes(type), `unknown event ${type}`)
    const fields = asFields(JSON.parse(data.slice('data: '.length)))
    must(fields?.['type'] === type, `event ${type} has data of type ${String(fields?.['type'])}`)
    if (type !== 'ping') frames.push({ type, data: fields! })
  }
  return frames
}

/** Returns the frames that follow the last block. */
function checkBlocks(frames: readonly Frame[], isCut: boolean): readonly Frame[] {
  const [start, ...rest] = frames
  must(start?.type === 'message_start', `message_start expected, not ${start?.type}`)
  checkStart(asFields(start!.data['message']))
  let at = 0
  for (let index = 0; rest[at]?.type === 'content_block_start'; index++) {
    const to = rest.findIndex(({ type }, place) => place > at && type !== 'content_block_delta')
    const block = rest.slice(at, to < 0 ? undefined : to + 1)
    const last = block.at(-1)
    if (!(isCut && to < 0))
      must(last?.type === 'content_block_stop', `${last?.type} inside of block ${index}`)
    for (const { type, data } of block)
      must(data['index'] === index, `${type} of block ${String(data['index'])} in block ${index}`)
    checkBlock(block, isCut)
    at += block.length
  }
  return rest.slice(at)
}

function checkStart(message: Fields | undefined): void {
  const expected = { type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null }
  for (const [name, value] of Object.entries(expected))
    must(message?.[name] === value, `message_start has ${name} ${String(message?.[name])}`)
  must(/^msg_./.test(String(message?.['id'])), `message_start has id ${String(message?.['id'])}`)
  must(typeof message?.['model'] === 'string', 'message_start has no model')
  const content = message?.['content']
  must(Array.isArray(content) && content.length === 0, 'message_start has content')
  const usage = asFields(message?.['usage'])
  must(isCount(usage?.['input_tokens'], 1), 'message_start has no input_tokens')
  must(usage?.['output_tokens'] === 0, 'message_start has output_tokens')
}

function checkBlock([start, ...frames]: readonly Frame[], isCut: boolean): void {
  const block = asFields(start?.data['content_block'])
  const kind = String(block?.['type'])
  must(Object.hasOwn(BEGINNINGS, kind), `a block of kind ${kind}`)
  sameKeys(block!, BEGINNINGS[kind]!, kind)
  checkBeginning(kind, block!)
  const deltas = frames
    .filter(({ type }) => type === 'content_block_delta')
    .map(({ data }) => asFields(data['delta']) ?? {})
  const isOpen = frames.at(-1)?.type !== 'content_block_stop'
  if (kind === 'thinking') checkSignature(deltas, isOpen)
  const texts = deltas.filter(({ type }) => type !== 'signature_delta' || kind !== 'thinking')
  const text = texts.map((delta) => textOf(kind, delta)).join('')
  if (kind === 'redacted_thinking') return
  if (kind !== 'tool_use') must(isOpen || texts.length > 0, `an empty ${kind} block`)
  else if (!isCut && text !== '')
    must(asFields(JSON.parse(text)) !== undefined, `the input of a call is ${text}`)
}

function checkBeginning(kind: string, block: Fields): void {
  if (kind === 'redacted_thinking') return must(block['data'] !== '', 'a thought without data')
  if (kind !== 'tool_use')
    return must(block[kind] === '' && (block['signature'] ?? '') === '', `${kind} not empty`)
  must(typeof block['id'] === 'string' && block['id'] !== '', 'a call without an id')
  must(typeof block['name'] === 'string' && block['name'] !== '', 'a call without a name')
  must(JSON.stringify(block['input']) === '{}', 'a call that begins with input')
}

function checkSignature(deltas: readonly Fields[], isOpen: boolean): void {
  const places = deltas.flatMap(({ type }, place) => (type === 'signature_delta' ? [place] : []))
  if (isOpen && places.length === 0) return
  must(places.length === 1, `${places.length} signatures of a thought`)
  must(places[0] === deltas.length - 1, 'a thought goes on after its signature')
  const { signature } = deltas.at(-1)!
  must(typeof signature === 'string' && signature !== '', 'an empty signature')
}

function textOf(kind: string, delta: Fields): string {
  const [type, name] = DELTA_TEXTS[kind] ?? ['no delta', '']
  must(delta['type'] === type, `a ${String(delta['type'])} in a ${kind} block`)
  const text = delta[name]
  must(typeof text === 'string' && text !== '', `an empty ${type}`)
  sameKeys(delta, ['type', name], type)
  return String(text)
}

function checkReason(data: Fields): void {
  const delta = asFields(data['delta'])
  must(STOP_REASONS.has(delta?.['stop_reason']), `stop_reason ${String(delta?.['stop_reason'])}`)
  const sequence = delta?.['stop_sequence']
  must(sequence === null || typeof sequence === 'string', 'message_delta has no stop_sequence')
  const usage = asFields(data['usage'])
  for (const name of [
    'input_tokens',
    'output_tokens',
    'cache_read_input_tokens',
    'cache_creation_input_tokens',
  ])
    must(isCount(usage?.[name], 0), `message_delta has ${name} ${String(usage?.[name])}`)
}

function stopReasonOf(frames: readonly Frame[]): unknown {
  const data = frames.find(({ type }) => type === 'message_delta')?.data
  return asFields(data?.['delta'])?.['stop_reason']
}

function sameKeys(fields: Fields, names: readonly string[], what: string): void {
  const keys = Object.keys(fields)
  must(keys.sort().join() === [...names].sort().join(), `${what} has the fields ${keys.join(', ')}`)
}

function isCount(value: unknown, min: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined
}

function must(isTrue: boolean, wrong: string): void {
  if (!isTrue) throw new Error(`Not a stream of messages: ${wrong}.`)
}
