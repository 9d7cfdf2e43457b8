// The items of a request as turns. Here everything is an item of its own, in any order that makes sense to its model;
// our words have one turn for all that the model does at once, and one for what comes back to it, next to its calls.
import type {
  AssistantPart,
  CallPart,
  ResultPart,
  SystemTurn,
  TextPart,
  Turn,
  UserPart,
} from '../../../core/chat.ts'
import { invalid, type GatewayError } from '../../../core/problem.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { findFields, findText, getFields, getText, isAbsent, unsupported } from '../../reader.ts'
import {
  decodeShown,
  decodeSpoken,
  decodeTexts,
  type Content,
  type ShownPart,
  type Spot,
} from './items-decode.ts'
import { decodeThought } from './reasoning-items.ts'
import { decodeEffort, type Wish } from './request-reasoning.ts'

const ITEM = '/input/*'

const MESSAGE_FIELDS = new Set(['type', 'id', 'status', 'role', 'content'])
const CALL_FIELDS = new Set(['type', 'id', 'status', 'call_id', 'name', 'arguments'])
const CUSTOM_FIELDS = new Set(['type', 'id', 'status', 'call_id', 'name', 'input'])
// The name of a tool is the name of what was called, which the call says too.
const RESULT_FIELDS = new Set(['type', 'id', 'status', 'call_id', 'name', 'output', 'created_by'])
const UPDATE_FIELDS = new Set(['type', 'id', 'reasoning'])
const EFFORT_FIELDS = new Set(['effort'])

/** The conversation as far as it stands in these is known to one supplier alone. */
const KEPT = new Set(['item_reference', 'compaction', 'compaction_summary', 'compaction_trigger'])

interface AssistantDraft {
  readonly role: 'assistant'
  readonly parts: AssistantPart[]
  /** What came of its calls, wherever that was said. */
  readonly results: ResultPart[]
}

interface UserDraft {
  readonly role: 'user'
  readonly parts: UserPart[]
  /** It is nothing but results so far, behind which the user may go on. */
  isOpen: boolean
}

export interface Conversation {
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
  /** The last that an item asks for. */
  readonly wish: Wish | undefined
}

export function decodeInput(fields: Fields, lost: Lost): Conversation {
  const { input } = fields
  const reader = new ItemReader(lost)
  reader.instruct(findText(fields['instructions'], 'instructions') ?? '')
  if (typeof input === 'string') reader.read({ role: 'user', content: input }, 'input')
  else if (Array.isArray(input))
    for (const [index, item] of input.entries())
      reader.read(getFields(item, `input[${index}]`), `input[${index}]`)
  else throw invalid('input', '`input` must be a string or an array of items.')
  return reader.finish()
}

class ItemReader {
  readonly #lost: Lost
  readonly #system: TextPart[] = []
  readonly #drafts: (SystemTurn | UserDraft | AssistantDraft)[] = []
  /** Who has made a call, by the call's id; the last one where ids are used again. */
  readonly #callers = new Map<string, AssistantDraft>()
  #wish: Wish | undefined
  #isCut = false

  constructor(lost: Lost) {
    this.#lost = lost
  }

  instruct(text: string): void {
    if (text === '') return
    this.#lost.note('system', '/instructions')
    this.#system.push({ kind: 'text', text })
  }

  read(item: Fields, param: string): void {
    const kind = kindOf(item, param)
    switch (kind) {
      case 'message':
        return this.#readMessage(item, param)
      case 'reasoning':
        return this.#readThought(item, param)
      case 'function_call':
        return this.#readCall(item, param)
      case 'custom_tool_call':
        return this.#readCustom(item, param)
      case 'function_call_output':
        return this.#readResult(item, param)
      case 'custom_tool_call_output':
        this.#lost.addNamed(ITEM, kind)
        return this.#readResult(item, param)
      case 'configuration_update':
        return this.#readUpdate(item, param)
      default:
        if (KEPT.has(kind)) throw unknowable(param)
        this.#lost.addNamed(ITEM, kind)
        this.#isCut = true
    }
  }

  finish(): Conversation {
    const turns = this.#gather()
    if (turns.length === 0 && this.#isCut) throw unsayable('input')
    return { system: this.#system, turns, wish: this.#wish }
  }

  /** Results come right behind the turn that has called, before whatever else was said behind it. */
  #gather(): readonly Turn[] {
    const turns: Turn[] = []
    let results: UserPart[] | undefined
    for (const draft of this.#drafts) {
      if (draft.role === 'assistant') {
        turns.push({ role: 'assistant', parts: draft.parts })
        results = draft.results.length > 0 ? [...draft.results] : undefined
        if (results !== undefined) turns.push({ role: 'user', parts: results })
        continue
      }
      if (draft.role === 'system') turns.push(draft)
      else if (results === undefined) turns.push({ role: 'user', parts: draft.parts })
      else append(results, draft.parts)
      results = undefined
    }
    return turns
  }

  #readMessage(item: Fields, param: string): void {
    this.#lost.addOthers(ITEM, item, MESSAGE_FIELDS, isBlank)
    const { content } = item
    const spot = this.#spot(param, 'content')
    switch (item['role']) {
      case 'system':
      case 'developer':
        return this.#addSystem(decodeTexts(content, spot).parts)
      case 'user':
        return this.#addUser(decodeShown(content, spot), spot.param)
      case 'assistant':
        return this.#say(decodeSpoken(content, spot).parts)
      default:
        throw invalid(`${param}.role`, `\`${param}.role\` is not known.`)
    }
  }

  #spot(param: string, name: string): Spot {
    return { param: `${param}.${name}`, pointer: `${ITEM}/${name}`, lost: this.#lost }
  }

  #addSystem(parts: readonly TextPart[]): void {
    if (parts.length === 0) return
    if (this.#drafts.length > 0) this.#drafts.push({ role: 'system', parts })
    else {
      this.#lost.note('system', `${ITEM}/content`)
      append(this.#system, parts)
    }
  }

  #addUser({ parts, isCut }: Content<ShownPart>, param: string): void {
    if ((isCut || parts.length > 0) && !parts.some(isSayable)) throw unsayable(param)
    const last = this.#drafts.at(-1)
    if (last?.role !== 'user' || !last.isOpen)
      return void this.#drafts.push({ role: 'user', parts: [...parts], isOpen: false })
    append(last.parts, parts)
    last.isOpen = false
  }

  #say(parts: readonly AssistantPart[]): void {
    if (parts.length > 0) append(this.#getSpeaker().parts, parts)
  }

  /** Who has got a result has been asked again since. */
  #getSpeaker(): AssistantDraft {
    const last = this.#drafts.at(-1)
    if (last?.role === 'assistant' && last.results.length === 0) return last
    const speaker: AssistantDraft = { role: 'assistant', parts: [], results: [] }
    this.#drafts.push(speaker)
    return speaker
  }

  #readThought(item: Fields, param: string): void {
    const part = decodeThought(item, param, this.#lost)
    if (part !== undefined) this.#say([part])
  }

  #readCall(item: Fields, param: string): void {
    this.#lost.addOthers(ITEM, item, CALL_FIELDS, isUsual)
    // Some clients hand the input back as they have read it, and not as text.
    const input = item['arguments']
    if (!isAbsent(input)) this.#lost.note('call_input', `${ITEM}/arguments`)
    this.#call({
      kind: 'call',
      id: getText(item['call_id'], `${param}.call_id`),
      name: getText(item['name'], `${param}.name`),
      input: isFields(input)
        ? JSON.stringify(input)
        : (findText(input, `${param}.arguments`) ?? ''),
    })
  }

  /** A call of a tool that takes any text. It stays in the conversation, because its result does. */
  #readCustom(item: Fields, param: string): void {
    this.#lost.addNamed(ITEM, 'custom_tool_call')
    this.#lost.addOthers(ITEM, item, CUSTOM_FIELDS, isUsual)
    this.#call({
      kind: 'call',
      id: getText(item['call_id'], `${param}.call_id`),
      name: getText(item['name'], `${param}.name`),
      input: JSON.stringify({ input: findText(item['input'], `${param}.input`) ?? '' }),
    })
  }

  #call(part: CallPart): void {
    const speaker = this.#getSpeaker()
    speaker.parts.push(part)
    this.#callers.set(part.id, speaker)
  }

  #readResult(item: Fields, param: string): void {
    this.#lost.addOthers(ITEM, item, RESULT_FIELDS, isUsual)
    const id = getText(item['call_id'], `${param}.call_id`)
    const { parts } = decodeShown(item['output'], this.#spot(param, 'output'))
    this.#addResult({ kind: 'result', id, parts, isError: false })
  }

  #addResult(result: ResultPart): void {
    const caller = this.#callers.get(result.id)
    if (caller !== undefined) return void caller.results.push(result)
    const last = this.#drafts.at(-1)
    if (last?.role === 'user' && last.isOpen) last.parts.push(result)
    else this.#drafts.push({ role: 'user', parts: [result], isOpen: true })
  }

  #readUpdate(item: Fields, param: string): void {
    this.#lost.addOthers(ITEM, item, UPDATE_FIELDS)
    const reasoning = findFields(item['reasoning'], `${param}.reasoning`) ?? {}
    const pointer = `${ITEM}/reasoning`
    this.#lost.addOthers(pointer, reasoning, EFFORT_FIELDS)
    const spot = { param: `${param}.reasoning.effort`, pointer: `${pointer}/effort` }
    this.#wish = decodeEffort(reasoning['effort'], { ...spot, lost: this.#lost }) ?? this.#wish
  }
}

/** Messages and references may leave their type out. */
function kindOf(item: Fields, param: string): string {
  const type = findText(item['type'], `${param}.type`)
  if (type !== undefined) return type
  if (!isAbsent(item['role'])) return 'message'
  if (!isAbsent(item['id'])) return 'item_reference'
  throw invalid(`${param}.type`, `\`${param}.type\` must be a string.`)
}

/** The model has called by itself, and waits for what comes of it. */
function isUsual(value: unknown, name: string): boolean {
  if (name === 'caller') return isBlank(value) || (isFields(value) && value['type'] === 'direct')
  return isBlank(value) || (name === 'async' && value === false)
}

/** What is known to one supplier by its id cannot be shown to another. */
function isSayable(part: ShownPart): boolean {
  return part.kind === 'text' || part.source.kind !== 'id'
}

function unsayable(param: string): GatewayError {
  return unsupported(
    param,
    `\`${param}\` has only parts that suppliers of another language cannot be sent. Add text, or ask for a model whose supplier speaks this language.`,
  )
}

function unknowable(param: string): GatewayError {
  return unsupported(
    param,
    `Send the whole conversation in \`input\`: \`${param}\` stands for what one supplier knows, and suppliers of another language do not. Many clients send whole items where \`store\` is false.`,
  )
}

/** A list may be longer than a function takes arguments. */
function append<Item>(list: Item[], added: readonly Item[]): void {
  for (const item of added) list.push(item)
}
