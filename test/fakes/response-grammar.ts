// The grammar of a stream of the responses language that the gateway writes, as strict as the strictest client: names and
// numbers of events, whole items in their order, pieces that add up to what is told at their end, and an end that repeats all of it.

interface Frame {
  readonly type: string
  readonly data: Fields
}

type Fields = Readonly<Record<string, unknown>>

const RESPONSE_FIELDS = (
  'id object created_at status error incomplete_details model output usage instructions metadata parallel_tool_calls ' +
  'tool_choice tools temperature top_p text store previous_response_id reasoning truncation'
).split(' ')
const ITEM_FIELDS: Readonly<Record<string, readonly string[]>> = {
  message: ['id', 'type', 'status', 'role', 'content'],
  function_call: ['id', 'type', 'status', 'arguments', 'call_id', 'name'],
  reasoning: ['id', 'type', 'summary'],
}
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  function_call: 'fc_',
  reasoning: 'rs_',
}
const CAUSES = new Set<unknown>(['max_output_tokens', 'content_filter'])

/** What adds to something: the item that it belongs to, where it stands there, and what the whole is called. */
interface Growth {
  readonly item: string
  readonly place: string | undefined
  readonly whole: string
  /** Further members of its pieces, and of its end. */
  readonly others: readonly [readonly string[], readonly string[]]
}

const GROWTHS: Readonly<Record<string, Growth>> = {
  'response.output_text': {
    item: 'message',
    place: 'content_index',
    whole: 'text',
    others: [['logprobs'], ['logprobs']],
  },
  'response.refusal': {
    item: 'message',
    place: 'content_index',
    whole: 'refusal',
    others: [[], []],
  },
  'response.reasoning_summary_text': {
    item: 'reasoning',
    place: 'summary_index',
    whole: 'text',
    others: [[], []],
  },
  'response.function_call_arguments': {
    item: 'function_call',
    place: undefined,
    whole: 'arguments',
    others: [[], ['name']],
  },
}

/** Throws with what is wrong about a stream that has come to its end. Comments may stand between frames. */
export function checkResponseStream(text: string): void {
  const frames = readFrames(text)
  const last = frames.pop()
  const checker = new Checker()
  for (const frame of frames) checker.take(frame)
  checker.end(last)
}

/** The same of a stream that has failed: it ends in `response.failed` wherever it stood, and in nothing else. */
export function checkFailedResponseStream(text: string): void {
  const frames = readFrames(text)
  const last = frames.pop()
  must(last?.type === 'response.failed', `response.failed expected at the end, not ${last?.type}`)
  const checker = new Checker()
  for (const frame of frames) checker.take(frame)
  const response = fieldsIn(last!.data, 'response')
  const error = fieldsIn(response, 'error')
  must(last!.data['sequence_number'] === frames.length, 'the failure is out of number')
  // The older helper of the maker goes through it and throws away what the error says where there is none.
  must(Array.isArray(response['output']), 'what failed has no list of output')
  must(response['object'] === 'response', 'what failed is no response')
  must(response['status'] === 'failed', `it failed with the status ${String(response['status'])}`)
  must(isText(error['code']) && isText(error['message']), 'the error has no code or no message')
  must(isText(response['id']), 'what failed has no id')
  if (frames.length > 0) must(response['id'] === checker.id, 'another response has failed')
}

function readFrames(text: string): Frame[] {
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
    const fields = asFields(JSON.parse(data.slice('data: '.length))) ?? {}
    must(fields['type'] === type, `event ${type} has data of type ${String(fields['type'])}`)
    must(isCount(fields['sequence_number']), `${type} has no number`)
    frames.push({ type, data: fields })
  }
  return frames
}

/** An item that has begun. */
class OpenItem {
  readonly fields: Fields
  /** Its parts, as they were told at their end. */
  readonly parts: Fields[] = []
  /** The part at hand, or the input of a call: its kind, what was added, and what was told to be all of it. */
  event: string | undefined
  text = ''
  whole: string | undefined

  constructor(fields: Fields) {
    this.fields = fields
  }

  get type(): string {
    return String(this.fields['type'])
  }
}

class Checker {
  id: unknown
  #response: Fields | undefined
  #numbers = 0
  #lifecycle = 0
  readonly #open = new Map<number, OpenItem>()
  readonly #done: Fields[] = []
  readonly #names = new Set<string>()
  #items = 0

  take({ type, data }: Frame): void {
    must(data['sequence_number'] === this.#numbers, `${type} is out of number`)
    this.#numbers++
    if (this.#lifecycle < 2) return this.#announce(type, data)
    if (type === 'response.output_item.added') return this.#begin(data)
    if (type === 'response.output_item.done') return this.#finish(data)
    const item = this.#itemOf(type, data)
    const part = /^response\.(content|reasoning_summary)_part\.(added|done)$/.exec(type)
    if (part?.[2] === 'added') return this.#beginPart(item, type, data)
    if (part?.[2] === 'done') return this.#endPart(item, type, data)
    const [, event = '', step = ''] = /^(.*)\.(delta|done)$/.exec(type) ?? []
    const growth = GROWTHS[event]
    must(growth !== undefined && growth.item === item.type, `${type} in a ${item.type}`)
    if (growth!.place === undefined) item.event ??= event
    must(item.event === event, `${type} where ${item.event} is at hand`)
    if (step === 'delta') this.#grow(item, type, data, growth!)
    else this.#settle(item, type, data, growth!)
  }

  end(last: Frame | undefined): void {
    must(last?.data['sequence_number'] === this.#numbers, `${last?.type} is out of number`)
    must(this.#lifecycle === 2, 'it ends before it has begun')
    must(this.#open.size === 0, 'it ends with items that are not done')
    const response = fieldsIn(last!.data, 'response')
    sameKeys(last!.data, ['type', 'sequence_number', 'response'], last!.type)
    checkResponse(response)
    for (const name of ['id', 'created_at', 'model'])
      must(response[name] === this.#response?.[name], `${name} has changed`)
    const status = /^response\.(completed|incomplete)$/.exec(last!.type)?.[1]
    must(status !== undefined && response['status'] === status, `it ends in ${last!.type}`)
    const cause = asFields(response['incomplete_details'])?.['reason']
    if (status === 'incomplete') must(CAUSES.has(cause), `cut by ${String(cause)}`)
    else must(response['incomplete_details'] === null, 'complete, and cut')
    same(response['output'], this.#done, 'the output is not what was told')
    checkUsage(asFields(response['usage']))
    checkStatuses(this.#done, status === 'incomplete')
  }

  #announce(type: string, data: Fields): void {
    const expected = ['response.created', 'response.in_progress'][this.#lifecycle]
    must(type === expected, `${expected} expected, not ${type}`)
    this.#lifecycle++
    const response = fieldsIn(data, 'response')
    checkResponse(response)
    must(response['status'] === 'in_progress', `it begins ${String(response['status'])}`)
    same(response['output'], [], 'it begins with output')
    must(response['usage'] === null, 'it begins with usage')
    if (this.#response !== undefined) same(response, this.#response, 'the response has changed')
    this.#response = response
    this.id = response['id']
  }

  #begin(data: Fields): void {
    sameKeys(data, ['type', 'sequence_number', 'output_index', 'item'], 'output_item.added')
    must(data['output_index'] === this.#items, `item ${String(data['output_index'])} out of order`)
    const fields = fieldsIn(data, 'item')
    const item = new OpenItem(fields)
    // Calls may be under way side by side; of other items there is one at a time, and no call begins inside of it.
    for (const { type } of this.#open.values())
      must(type === 'function_call', `a ${item.type} begins inside of a ${type}`)
    must(Object.hasOwn(ITEM_FIELDS, item.type), `an item of kind ${item.type}`)
    sameKeys(fields, ITEM_FIELDS[item.type]!, item.type)
    checkNames(fields, this.#names)
    if (item.type !== 'reasoning')
      must(fields['status'] === 'in_progress', `a ${item.type} begins as it is done`)
    same(fields['content'] ?? fields['summary'] ?? [], [], `a ${item.type} begins with parts`)
    must((fields['arguments'] ?? '') === '', 'a call begins with input')
    this.#open.set(this.#items++, item)
    this.#done.push({})
  }

  #finish(data: Fields): void {
    sameKeys(data, ['type', 'sequence_number', 'output_index', 'item'], 'output_item.done')
    const index = Number(data['output_index'])
    const item = this.#open.get(index)
    must(item !== undefined, `item ${index} is done and was not begun`)
    const { fields, type, parts, event, text, whole } = item!
    const done = fieldsIn(data, 'item')
    for (const name of ['id', 'type', 'role', 'call_id', 'name'])
      must(done[name] === fields[name], `${name} of a ${type} has changed`)
    const sealed = type === 'reasoning' ? ['encrypted_content'] : []
    sameKeys(done, [...ITEM_FIELDS[type]!, ...sealed], type)
    if (type === 'function_call') {
      must(whole !== undefined && whole === text, 'the input of a call was not told whole')
      must(done['arguments'] === whole && whole !== '', 'a call is done with other input')
    } else must(event === undefined, `a ${type} is done inside of a part`)
    if (type === 'message') must(parts.length > 0, 'an empty message')
    if (type === 'reasoning') must(isText(done['encrypted_content']), 'a thought without a seal')
    else must(done['status'] !== 'in_progress', `a ${type} is done and goes on`)
    same(done['content'] ?? done['summary'] ?? [], parts, `a ${type} is done with other parts`)
    this.#done[index] = done
    this.#open.delete(index)
  }

  #itemOf(type: string, data: Fields): OpenItem {
    const item = this.#open.get(Number(data['output_index']))
    must(item !== undefined, `${type} of item ${String(data['output_index'])}, which is not open`)
    must(data['item_id'] === item!.fields['id'], `${type} of another item`)
    return item!
  }

  #beginPart(item: OpenItem, type: string, data: Fields): void {
    must(item.event === undefined, `${type} inside of a part`)
    checkPlace(item, type, data)
    const part = fieldsIn(data, 'part')
    item.event = growthOf(part)
    must(GROWTHS[item.event]?.item === item.type, `${type} of a ${item.type}`)
    same(part, partOf(item.event, ''), `${type} of a part that is not empty`)
    item.text = ''
    item.whole = undefined
  }

  #endPart(item: OpenItem, type: string, data: Fields): void {
    checkPlace(item, type, data)
    must(item.event !== undefined && item.whole !== undefined, `${type} before its text is done`)
    const part = fieldsIn(data, 'part')
    same(part, partOf(item.event!, item.whole!), `${type} of another part`)
    item.parts.push(part)
    item.event = undefined
  }

  #grow(item: OpenItem, type: string, data: Fields, { place, others }: Growth): void {
    sameKeys(data, [...namesAt(place), 'delta', ...others[0]], type)
    if (place !== undefined) must(data[place] === item.parts.length, `${type} of another part`)
    must(item.whole === undefined, `${type} after its end`)
    must(isText(data['delta']), `${type} that adds nothing`)
    item.text += String(data['delta'])
  }

  #settle(item: OpenItem, type: string, data: Fields, { place, whole, others }: Growth): void {
    sameKeys(data, [...namesAt(place), whole, ...others[1]], type)
    if (place !== undefined) must(data[place] === item.parts.length, `${type} of another part`)
    else must(data['name'] === item.fields['name'], `${type} of another call`)
    must(item.whole === undefined, `${type} twice`)
    must(data[whole] === item.text, `${type} with other text than was added`)
    item.whole = item.text
  }
}

function namesAt(place: string | undefined): readonly string[] {
  const names = ['type', 'sequence_number', 'item_id', 'output_index']
  return place === undefined ? names : [...names, place]
}

function checkPlace(item: OpenItem, type: string, data: Fields): void {
  const place = type.includes('summary') ? 'summary_index' : 'content_index'
  sameKeys(data, [...namesAt(place), 'part'], type)
  must(data[place] === item.parts.length, `${type} of part ${String(data[place])}`)
}

function growthOf({ type }: Fields): string {
  if (type === 'output_text') return 'response.output_text'
  return type === 'refusal' ? 'response.refusal' : 'response.reasoning_summary_text'
}

function partOf(event: string, text: string): Fields {
  if (event === 'response.refusal') return { type: 'refusal', refusal: text }
  if (event === 'response.reasoning_summary_text') return { type: 'summary_text', text }
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

function checkNames(item: Fields, names: Set<string>): void {
  const { type, id, call_id: callId, name, role } = item
  must(String(id).startsWith(PREFIXES[String(type)]!), `a ${String(type)} has the id ${String(id)}`)
  if (type === 'message') must(role === 'assistant', `a message of ${String(role)}`)
  if (type === 'function_call') must(isText(callId) && isText(name), 'a call without id or name')
  const own = [`id ${String(id)}`, ...(typeof callId === 'string' ? [`call ${callId}`] : [])]
  for (const each of own) {
    must(!names.has(each), `two items have the ${each}`)
    names.add(each)
  }
}

/** Of an answer that was cut, what comes last is not complete; all of an answer that was not is. */
function checkStatuses(items: readonly Fields[], isCut: boolean): void {
  const open = items.filter(({ status }) => status === 'incomplete')
  const last = items.at(-1)
  if (!isCut) must(open.length === 0, 'complete, with an item that is not')
  else if (last !== undefined && last['type'] !== 'reasoning')
    must(last['status'] === 'incomplete', 'cut, and its last item is complete')
}

function checkResponse(response: Fields): void {
  sameKeys(response, RESPONSE_FIELDS, 'the response')
  must(response['object'] === 'response', 'no response')
  must(/^resp_./.test(String(response['id'])), `the response has the id ${String(response['id'])}`)
  must(isCount(response['created_at']) && isText(response['model']), 'no time or no model')
  must(response['error'] === null, 'an error')
}

function checkUsage(usage: Fields | undefined): void {
  const { input_tokens: input, output_tokens: output, total_tokens: total } = usage ?? {}
  must(isCount(input) && isCount(output), 'no usage')
  must(total === Number(input) + Number(output), 'a usage that does not add up')
  const cached = asFields(usage?.['input_tokens_details'])?.['cached_tokens']
  const thought = asFields(usage?.['output_tokens_details'])?.['reasoning_tokens']
  must(isCount(cached) && isCount(thought), 'a usage without details')
}

function fieldsIn(data: Fields, name: string): Fields {
  const fields = asFields(data[name])
  must(fields !== undefined, `${String(data['type'])} has no ${name}`)
  return fields!
}

function asFields(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : undefined
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function same(value: unknown, expected: unknown, wrong: string): void {
  must(Bun.deepEquals(value, expected, true), wrong)
}

function sameKeys(fields: Fields, names: readonly string[], what: string): void {
  const keys = Object.keys(fields)
  must(keys.sort().join() === [...names].sort().join(), `${what} has the fields ${keys.join(', ')}`)
}

function must(isTrue: boolean, wrong: string): void {
  if (!isTrue) throw new Error(`Not a stream of a response: ${wrong}.`)
}
