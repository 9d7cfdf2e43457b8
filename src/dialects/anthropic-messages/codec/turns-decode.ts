// The messages of a request as turns. What the system says before all others goes to the front, neighbours of the
// assistant are one turn, and results stand right behind the calls that they answer, before all else.
import type {
  AssistantPart,
  CallPart,
  ResultPart,
  TextPart,
  Turn,
  UserPart,
} from '../../../core/chat.ts'
import type { GatewayError } from '../../../core/problem.ts'
import { asFields, isFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { getText, unsupported } from '../../reader.ts'
import { readSeal } from '../../seal.ts'
import { decodeCache, decodeShown, decodeText, withCache, type Shown } from './blocks-decode.ts'
import { isDefault, wrong, type Spot } from './request-spot.ts'
import { decodeEffort, type Wish } from './thinking-decode.ts'

const MESSAGE = '/messages/*'
const BLOCK = `${MESSAGE}/content/*`
const MESSAGE_FIELDS = new Set(['role', 'content', 'output_config'])
const OUTPUT_FIELDS = new Set(['effort'])
const CALL_FIELDS = new Set(['type', 'id', 'name', 'input', 'cache_control'])
const RESULT_FIELDS = new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control'])
const THINKING_FIELDS = new Set(['type', 'thinking', 'signature'])
const HIDDEN_FIELDS = new Set(['type', 'data'])
/** They change which tools there are, and say nothing else. */
const CHANGES = new Set<unknown>(['tool_addition', 'tool_removal'])

/** What a user says, while more of it may come. */
interface Said {
  readonly results: ResultPart[]
  readonly rest: UserPart[]
}

export class Messages {
  /** What the system says before anybody else does. */
  readonly system: TextPart[]
  /** The last that a message asks for. */
  wish: Wish | undefined
  /** Tools that are described on the way. */
  readonly tools: Fields[] = []
  readonly #turns: (Turn | Said)[] = []
  readonly #lost: Lost
  /** What the assistant says, while more of it may come. */
  #spoken: AssistantPart[] | undefined
  /** How many turns there are up to the assistant's last, and what came of its calls. */
  #answered = 0
  #answer: Said | undefined

  constructor(system: readonly TextPart[], lost: Lost) {
    this.system = [...system]
    this.#lost = lost
  }

  get turns(): readonly Turn[] {
    return this.#turns.map((turn) =>
      'parts' in turn ? turn : { role: 'user', parts: [...turn.results, ...turn.rest] },
    )
  }

  add(message: Fields, index: number): void {
    const param = `messages[${index}]`
    this.#lost.addOthers(MESSAGE, message, MESSAGE_FIELDS, isDefault)
    this.#readOutput(message['output_config'])
    const blocks = blocksOf(message['content'], `${param}.content`)
    switch (message['role']) {
      case 'user':
        return this.#addUser(blocks, param)
      case 'assistant':
        return this.#addAssistant(blocks, param)
      case 'system':
        return this.#addSystem(blocks, param)
      default:
        throw wrong(`${param}.role`, 'must be one of user, assistant, system')
    }
  }

  #readOutput(value: unknown): void {
    const output = asFields(value)
    if (output === undefined) return
    const place = `${MESSAGE}/output_config`
    this.#lost.addOthers(place, output, OUTPUT_FIELDS, isDefault)
    this.wish = decodeEffort(output, place, this.#lost) ?? this.wish
  }

  #spot(param: string, place: number): Spot {
    return { param: `${param}.content[${place}]`, pointer: BLOCK, lost: this.#lost }
  }

  #addSystem(blocks: readonly Fields[], param: string): void {
    const parts = blocks.flatMap((block, place) => {
      if (block['type'] === 'text') return listOf(decodeText(block, this.#spot(param, place)))
      this.#drop(block)
      return []
    })
    if (parts.length === 0) return
    if (this.#turns.length > 0) return this.#push({ role: 'system', parts })
    append(this.system, parts)
    this.#lost.note('system', `${MESSAGE}/content`)
  }

  #push(turn: Turn | Said): void {
    this.#turns.push(turn)
    this.#spoken = undefined
  }

  #addUser(blocks: readonly Fields[], param: string): void {
    const results: ResultPart[] = []
    const rest: UserPart[] = []
    for (const [place, block] of blocks.entries()) {
      const spot = this.#spot(param, place)
      if (block['type'] === 'tool_result') results.push(decodeResult(block, spot))
      else if (CHANGES.has(block['type'])) this.#drop(block)
      else rest.push(...listOf(decodeShown(block, spot)))
    }
    if (results.length + rest.length === 0 && blocks.some(saysSomething)) throw unsayable(param)
    this.#pushUser(results, rest)
  }

  /** Suppliers of this language take neighbours for one turn, of which others want the results to come first. */
  #pushUser(results: readonly ResultPart[], rest: readonly UserPart[]): void {
    if (results.length === 0) return this.#push({ results: [], rest: [...rest] })
    this.#answer ??= this.#openAnswer()
    append(this.#answer.results, results)
    if (this.#turns.at(-1) === this.#answer) append(this.#answer.rest, rest)
    else if (rest.length > 0) this.#push({ results: [], rest: [...rest] })
  }

  /** Next to the calls, whatever was said since. */
  #openAnswer(): Said {
    const next = this.#turns[this.#answered]
    if (next !== undefined && !('parts' in next)) return next
    const answer: Said = { results: [], rest: [] }
    this.#turns.splice(this.#answered, 0, answer)
    this.#spoken = undefined
    return answer
  }

  #addAssistant(blocks: readonly Fields[], param: string): void {
    const parts = blocks.flatMap((block, place) =>
      listOf(decodeSaid(block, this.#spot(param, place))),
    )
    if (parts.length === 0) return
    if (this.#spoken !== undefined) return append(this.#spoken, parts)
    this.#push({ role: 'assistant', parts })
    this.#spoken = parts
    this.#answered = this.#turns.length
    this.#answer = undefined
  }

  #drop(block: Fields): void {
    const { type, tool } = block
    this.#lost.addNamed(BLOCK, type)
    if (type === 'tool_addition' && isFields(tool) && isFields(tool['input_schema']))
      this.tools.push(tool)
  }
}

/** A text is one block. */
export function blocksOf(content: unknown, param: string): readonly Fields[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw wrong(param, 'must be a string or an array of blocks')
  return content.map((block, place) => {
    if (!isFields(block)) throw wrong(`${param}[${place}]`, 'must be an object')
    return block
  })
}

/** Not by spreading: there may be more than fit on a stack. */
function append<Item>(list: Item[], added: readonly Item[]): void {
  for (const item of added) list.push(item)
}

function listOf<Part>(part: Part | undefined): readonly Part[] {
  return part === undefined ? [] : [part]
}

function saysSomething({ type, text }: Fields): boolean {
  return !CHANGES.has(type) && text !== ''
}

function unsayable(param: string): GatewayError {
  const field = `${param}.content`
  return unsupported(
    field,
    `\`${field}\` holds nothing that a supplier of another language could be told: send text, images, documents or results of tools in it.`,
  )
}

function decodeSaid(block: Fields, spot: Spot): AssistantPart | undefined {
  switch (block['type']) {
    case 'text':
      return decodeText(block, spot)
    case 'thinking':
      return decodeThought(block, spot)
    case 'redacted_thinking':
      return decodeHidden(block, spot)
    case 'tool_use':
      return decodeCall(block, spot)
    default:
      spot.lost.addNamed(spot.pointer, block['type'])
      return undefined
  }
}

function decodeThought(block: Fields, { pointer, lost }: Spot): AssistantPart | undefined {
  const { thinking, signature } = block
  lost.addOthers(pointer, block, THINKING_FIELDS, isDefault)
  const text = typeof thinking === 'string' ? thinking : ''
  if (typeof signature !== 'string' || signature === '')
    return text === '' ? undefined : { kind: 'thinking', text }
  lost.note('seal', `${pointer}/signature`)
  return { kind: 'thinking', text, seal: readSeal(signature) }
}

function decodeHidden(block: Fields, { pointer, lost }: Spot): AssistantPart | undefined {
  const { data } = block
  lost.addOthers(pointer, block, HIDDEN_FIELDS, isDefault)
  if (typeof data !== 'string' || data === '') return undefined
  lost.note('seal', `${pointer}/redacted_thinking`)
  return { kind: 'thinking', text: '', seal: readSeal(data), isHidden: true }
}

function decodeCall(block: Fields, spot: Spot): AssistantPart {
  const { input } = block
  const id = getText(block['id'], `${spot.param}.id`)
  const name = getText(block['name'], `${spot.param}.name`)
  spot.lost.addOthers(spot.pointer, block, CALL_FIELDS, isDefault)
  const text = typeof input === 'string' ? input : JSON.stringify(input ?? {})
  return withCache<CallPart>({ kind: 'call', id, name, input: text }, decodeCache(block, spot))
}

function decodeResult(block: Fields, spot: Spot): ResultPart {
  const { content, is_error: isError } = block
  const id = getText(block['tool_use_id'], `${spot.param}.tool_use_id`)
  spot.lost.addOthers(spot.pointer, block, RESULT_FIELDS, isDefault)
  const param = `${spot.param}.content`
  const parts = blocksOf(content ?? [], param).flatMap((each, place) =>
    decodeFound(each, {
      param: `${param}[${place}]`,
      pointer: `${BLOCK}/content/*`,
      lost: spot.lost,
    }),
  )
  return withCache<ResultPart>(
    { kind: 'result', id, parts, isError: isError === true },
    decodeCache(block, spot),
  )
}

/** All tools are sent in any case, so which of them was found is for the model to read. */
function decodeFound(block: Fields, spot: Spot): readonly Shown[] {
  const { type, tool_name: name } = block
  if (type === 'tool_reference' && typeof name === 'string')
    return [{ kind: 'text', text: `The tool ${name} is available.` }]
  return listOf(decodeShown(block, spot))
}
