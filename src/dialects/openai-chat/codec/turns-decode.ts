// The messages of a chat request as turns. Chat has a message for each result of a call, and our words have one turn
// for all that comes back to the model: results that follow each other and what a user says right behind them.
import type {
  AssistantPart,
  CallPart,
  ResultPart,
  TextPart,
  Turn,
  UserPart,
} from '../../../core/chat.ts'
import { invalid } from '../../../core/problem.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
import { decodeCache, markLast } from './parts-cache.ts'
import { decodeShown, decodeSpoken, decodeTexts, type ShownPart } from './parts-decode.ts'
import type { Lost } from '../../lost.ts'
import {
  findList,
  findText,
  getFields,
  getText,
  isAbsent,
  told,
  unsupported,
} from '../../reader.ts'
import { decodeThinking, THINKING_FIELDS } from './turns-thinking.ts'

const MESSAGES = '/messages/*'

export interface Conversation {
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
}

export function decodeMessages(value: unknown, lost: Lost): Conversation {
  if (!Array.isArray(value)) throw invalid('messages', '`messages` must be an array.')
  const reader = new MessageReader(lost)
  for (const [index, item] of value.entries()) {
    const param = `messages[${index}]`
    reader.read(getFields(item, param), param)
  }
  return reader
}

const SAID_FIELDS = new Set(['role', 'content', 'cache_control'])
// The name of a tool is the name of what was called, which the call says too.
const RESULT_FIELDS = new Set([...SAID_FIELDS, 'tool_call_id', 'name'])
const ASSISTANT_FIELDS = new Set([
  ...SAID_FIELDS,
  ...THINKING_FIELDS,
  'refusal',
  'tool_calls',
  'function_call',
])

class MessageReader implements Conversation {
  readonly system: TextPart[] = []
  readonly turns: Turn[] = []
  readonly #lost: Lost
  /** Of the turn that results are gathered in, until something else is said. */
  #results: UserPart[] | undefined

  constructor(lost: Lost) {
    this.#lost = lost
  }

  read(message: Fields, param: string): void {
    switch (message['role']) {
      case 'system':
      case 'developer':
        return this.#readSystem(message, param)
      case 'user':
        return this.#readUser(message, param)
      case 'assistant':
        return this.#readAssistant(message, param)
      case 'tool':
        return this.#readResult(
          message,
          param,
          getText(message['tool_call_id'], `${param}.tool_call_id`),
        )
      case 'function':
        return this.#readResult(message, param, formerId(getText(message['name'], `${param}.name`)))
      default:
        throw invalid(`${param}.role`, `\`${param}.role\` is not known.`)
    }
  }

  #readSystem(message: Fields, param: string): void {
    this.#lost.addOthers(MESSAGES, message, SAID_FIELDS, isBlank)
    const texts = decodeTexts(message['content'], `${param}.content`, this.#lost)
    const parts = this.#mark(message, texts)
    if (parts.length === 0) return
    if (this.turns.length > 0) this.turns.push({ role: 'system', parts })
    else append(this.system, parts)
    this.#results = undefined
  }

  #readUser(message: Fields, param: string): void {
    this.#lost.addOthers(MESSAGES, message, SAID_FIELDS, isBlank)
    const content = decodeShown(message['content'], `${param}.content`, this.#lost)
    const parts = this.#mark<ShownPart>(message, content.parts)
    if (content.isCut && parts.length === 0)
      throw unsupported(
        `${param}.content`,
        `\`${param}.content\` has only parts that suppliers of another language cannot be sent. Add text, or ask for a model whose supplier speaks this language.`,
      )
    if (this.#results === undefined) this.turns.push({ role: 'user', parts })
    else append(this.#results, parts)
    this.#results = undefined
  }

  #readResult(message: Fields, param: string, id: string): void {
    this.#lost.addOthers(MESSAGES, message, RESULT_FIELDS, isBlank)
    const shown = decodeShown(message['content'], `${param}.content`, this.#lost).parts
    const parts = shown.filter((part) => part.kind !== 'audio')
    if (parts.length < shown.length) this.#lost.add(`${MESSAGES}/content/*/input_audio`)
    const cache = decodeCache(message, MESSAGES, this.#lost)
    const result = told<ResultPart>({ kind: 'result', id, parts, isError: false, cache })
    if (this.#results === undefined) {
      this.#results = []
      this.turns.push({ role: 'user', parts: this.#results })
    }
    this.#results.push(result)
  }

  #readAssistant(message: Fields, param: string): void {
    this.#results = undefined
    this.#lost.addOthers(MESSAGES, message, ASSISTANT_FIELDS, isBlank)
    const parts: AssistantPart[] = [...decodeThinking(message, this.#lost)]
    append(parts, decodeSpoken(message['content'], `${param}.content`, this.#lost))
    const refusal = findText(message['refusal'], `${param}.refusal`) ?? ''
    if (refusal !== '') parts.push({ kind: 'refusal', text: refusal })
    append(parts, this.#readCalls(message, param))
    this.turns.push({ role: 'assistant', parts: this.#mark(message, parts) })
  }

  #readCalls(message: Fields, param: string): readonly CallPart[] {
    const calls = findList(message['tool_calls'], `${param}.tool_calls`).map((item, index) => {
      const place = `${param}.tool_calls[${index}]`
      return decodeCall(getFields(item, place), place, this.#lost)
    })
    if (isAbsent(message['function_call'])) return calls
    const place = `${param}.function_call`
    const spot = { param: place, pointer: `${MESSAGES}/function_call`, lost: this.#lost }
    const { name, input } = decodeFunction(message['function_call'], spot)
    return [...calls, { kind: 'call', id: formerId(name), name, input }]
  }

  #mark<Part extends { readonly kind: string }>(
    message: Fields,
    parts: readonly Part[],
  ): readonly Part[] {
    const cache = decodeCache(message, MESSAGES, this.#lost)
    const marked = markLast(parts, cache)
    if (cache !== undefined && marked === parts) this.#lost.add(`${MESSAGES}/cache_control`)
    return marked
  }
}

/** Before calls had ids, their names told them apart. */
function formerId(name: string): string {
  return `call_${name}`
}

const CALLS = `${MESSAGES}/tool_calls/*`
const CALL_FIELDS = new Set(['id', 'type', 'function', 'index'])

function decodeCall(call: Fields, param: string, lost: Lost): CallPart {
  const id = getText(call['id'], `${param}.id`)
  if (isFields(call['custom'])) return decodeCustom(id, call['custom'], param, lost)
  lost.addOthers(CALLS, call, CALL_FIELDS, isBlank)
  const spot = { param: `${param}.function`, pointer: `${CALLS}/function`, lost }
  return { kind: 'call', id, ...decodeFunction(call['function'], spot) }
}

/** A call of a tool that takes any text. It stays in the conversation, because its result does. */
function decodeCustom(id: string, custom: Fields, param: string, lost: Lost): CallPart {
  lost.add(`${CALLS}/custom`)
  const input = JSON.stringify({ input: findText(custom['input'], `${param}.custom.input`) ?? '' })
  return { kind: 'call', id, name: getText(custom['name'], `${param}.custom.name`), input }
}

interface CallSpot {
  readonly param: string
  readonly pointer: string
  readonly lost: Lost
}

/** Some clients hand the input back as they have read it, and not as text. */
function decodeFunction(
  value: unknown,
  { param, pointer, lost }: CallSpot,
): Pick<CallPart, 'name' | 'input'> {
  const fields = getFields(value, param)
  const input = fields['arguments']
  if (!isAbsent(input)) lost.note('call_input', `${pointer}/arguments`)
  return {
    name: getText(fields['name'], `${param}.name`),
    input: isFields(input) ? JSON.stringify(input) : (findText(input, `${param}.arguments`) ?? ''),
  }
}

/** A list may be longer than a function takes arguments. */
function append<Item>(list: Item[], added: readonly Item[]): void {
  for (const item of added) list.push(item)
}
