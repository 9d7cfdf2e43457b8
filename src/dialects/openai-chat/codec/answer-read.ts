// Reads what a chat supplier says, whole or in pieces, into events. One reader for both, so that a stream and an answer
// cannot differ; it takes whatever shape it can make sense of and says what it had to leave.
import type { Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { Backlog } from '../../backlog.ts'
import { makeCallId } from '../../call-id.ts'
import { asNumber, parseExactly } from '../../exact-json.ts'
import { asFields, isBlank, isFields, parseJson, printShallow, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'
import { saysSomething } from '../output.ts'
import { Calls, type Call } from './answer-calls.ts'
import { isFinished, readFinish } from './answer-finish.ts'
import { Details, packSeal, textOfDetails } from './reasoning.ts'

/** What suppliers tell of themselves, of the call and of what it used. */
const ANSWER_KNOWN = new Set(
  (
    'id object created model choices usage error system_fingerprint service_tier provider request_id x_groq timings ' +
    // Noise that hides how long a text is.
    'obfuscation p ' +
    'time_info base_resp prompt_filter_results prompt nvext metadata'
  ).split(' '),
)
const CHOICE_KNOWN = new Set(
  (
    'index message delta finish_reason native_finish_reason stop_reason matched_stop content_filter_results ' +
    // The text once more, beside its delta.
    'text'
  ).split(' '),
)
const MESSAGE_KNOWN = new Set(
  'role content refusal reasoning reasoning_content reasoning_details tool_calls function_call'.split(
    ' ',
  ),
)
const PART_KNOWN = new Set(['type', 'text', 'thinking', 'refusal'])
const CALL_KNOWN = new Set(['index', 'id', 'type', 'function', 'extra_content'])

/** Whether it comes at once or in pieces, by the name that a choice has for it. */
export type Delivery = 'message' | 'delta'

export class AnswerReader {
  readonly #delivery: Delivery
  readonly #place: string
  readonly #lost = new Lost()
  readonly #details: Details
  readonly #calls: Calls
  #events: ChatEvent[] = []
  #answerId: unknown
  /** Its thoughts have a member of their own: what details repeat of them is not told again. */
  #hasThoughts = false
  #hasRefusal = false
  #isFinished = false

  constructor(delivery: Delivery) {
    this.#delivery = delivery
    this.#place = `/choices/*/${delivery}`
    const backlog = new Backlog(delivery === 'message' ? Infinity : undefined)
    this.#details = new Details(backlog)
    this.#calls = new Calls(backlog)
  }

  get lost(): readonly string[] {
    return this.#lost.places
  }

  /** Adds to the events what is said. */
  read(data: Uint8Array, events: ChatEvent[]): void {
    this.#events = events
    const answer = parseAnswer(data, this.#delivery)
    this.#answerId ??= answer['id']
    this.#lost.addOthers('', answer, ANSWER_KNOWN, isAside)
    const choice = this.#choose(answer['choices'])
    if (choice === undefined) return
    this.#lost.addOthers('/choices/*', choice, CHOICE_KNOWN, isAside)
    const message = choice[this.#delivery]
    if (isFields(message)) this.#readMessage(message)
    else if (!isBlank(choice['text'])) this.#lost.add('/choices/*/text')
    if (this.#delivery === 'message' || isFinished(choice)) this.#finish(choice)
  }

  /** One choice is all that our words have room for, and all that is ever asked for. */
  #choose(choices: unknown): Fields | undefined {
    if (!Array.isArray(choices)) return undefined
    let chosen: Fields | undefined
    for (const [position, choice] of choices.entries()) {
      if (!isFields(choice)) continue
      const own = asNumber(choice['index'])
      const index = typeof own === 'number' ? own : position
      if (index === 0 && chosen === undefined) chosen = choice
      else if (choices.length > 1 || this.#delivery === 'delta') this.#lost.add('/choices/*')
    }
    return chosen ?? (this.#delivery === 'message' ? asFields(choices[0]) : undefined)
  }

  #readMessage(message: Fields): void {
    if (this.#isFinished) {
      // Nothing may follow a finish: who listens has been told that it was all.
      if (saysSomething(message)) this.#lost.add(this.#place)
      return
    }
    this.#lost.addOthers(this.#place, message, MESSAGE_KNOWN, isAside)
    this.#readThoughts(message)
    const { content, refusal, tool_calls: calls, function_call: call } = message
    if (typeof content === 'string') this.#say('text', content)
    else if (!isBlank(content)) this.#readContent(content)
    if (typeof refusal === 'string') this.#say('refusal', refusal)
    if (Array.isArray(calls)) for (const each of calls) this.#readCall(each)
    else if (!isBlank(calls)) this.#lost.add(`${this.#place}/tool_calls`)
    // Who sends both says it twice.
    if (isFields(call) && isBlank(calls)) this.#readCall({ index: 0, function: call })
  }

  /** Two names for one thing; who sends both says it twice. */
  #readThoughts(message: Fields): void {
    const { reasoning_content: thoughts, reasoning, reasoning_details: details } = message
    if (thoughts === undefined && reasoning === undefined && details === undefined) return
    const text = textOf(thoughts) || textOf(reasoning)
    this.#hasThoughts ||= text !== ''
    this.#say('thinking', text)
    if (text === '' && !(isBlank(thoughts) && isBlank(reasoning)))
      this.#lost.add(`${this.#place}/reasoning`)
    if (Array.isArray(details)) {
      if (!this.#hasThoughts) this.#say('thinking', textOfDetails(details))
      this.#details.add(details)
    } else if (!isBlank(details)) this.#lost.add(`${this.#place}/reasoning_details`)
  }

  /** Parts, as Mistral sends them: `[{type: 'thinking', thinking: [{type: 'text', …}]}, {type: 'text', …}]`. */
  #readContent(content: unknown): void {
    const place = `${this.#place}/content`
    if (!Array.isArray(content)) return this.#lost.add(place)
    for (const part of content) {
      if (typeof part === 'string') this.#say('text', part)
      if (!isFields(part)) continue
      const { type = 'text', text, thinking, refusal } = part
      if (type === 'thinking') this.#say('thinking', textOf(thinking))
      else if (type === 'refusal') this.#say('refusal', textOf(refusal))
      else if (typeof text === 'string') this.#say('text', text)
      else this.#lost.addNamed(`${place}/*`, type)
      if (typeof text === 'string' || type === 'thinking')
        this.#lost.addOthers(`${place}/*`, part, PART_KNOWN, isAside)
    }
  }

  #say(kind: 'text' | 'thinking' | 'refusal', text: string): void {
    if (text === '') return
    if (kind !== 'thinking') this.#seal()
    this.#hasRefusal ||= kind === 'refusal'
    this.#events.push({ kind, text })
  }

  /** Tells at the end of a thought, or before a call, what is wanted back with it. */
  #seal(calls?: Fields): void {
    const details = this.#details.take()
    if (details.length === 0 && calls === undefined) return
    const data = packSeal(details, calls)
    if (data === undefined) this.#lost.add(`${this.#place}/reasoning_details`)
    else this.#events.push({ kind: 'seal', data })
  }

  #readCall(entry: unknown): void {
    if (!isFields(entry)) return
    const place = `${this.#place}/tool_calls/*`
    if (isFields(entry['custom'])) return this.#lost.add(`${place}/custom`)
    this.#lost.addOthers(place, entry, CALL_KNOWN, isAside)
    const { name, arguments: input } = asFields(entry['function']) ?? {}
    const ownName = typeof name === 'string' ? name : ''
    const call =
      this.#delivery === 'message' ? this.#calls.open() : this.#calls.find(entry, ownName)
    const { id, extra_content: extra } = entry
    if (!call.isTold) call.describe(id, ownName, extra)
    else if (!isBlank(extra)) this.#lost.add(`${place}/extra_content`)
    this.#tell(call, this.#inputOf(input))
  }

  /** Some send the object itself in place of its text. */
  #inputOf(value: unknown): string {
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return ''
    const text = printShallow(value)
    if (text === undefined) this.#loseInput()
    return text ?? ''
  }

  /** A call begins with its name: what comes before that waits for it. */
  #tell(call: Call, input: string): void {
    call.input.add(input)
    if (!call.isTold) {
      call.wait(input)
      if (call.name !== '') this.#begin(call)
    } else if (input !== '') this.#events.push({ kind: 'input', place: call.place, text: input })
  }

  #begin(call: Call): void {
    const { place } = call
    const { name, extra, input } = call.tell()
    const id = call.id || makeCallId('call', this.#answerId, place)
    this.#seal(extra === undefined ? undefined : { [id]: extra })
    this.#events.push({ kind: 'call', place, id, name })
    if (input !== '') this.#events.push({ kind: 'input', place, text: input })
  }

  #finish(choice: Fields): void {
    if (this.#isFinished) return
    this.#isFinished = true
    this.#seal()
    if (this.#calls.hasUntold) this.#lost.add(`${this.#place}/tool_calls/*`)
    const said = { hasCalls: this.#calls.hasTold, hasRefusal: this.#hasRefusal }
    const finish = readFinish(choice, said)
    if (this.#calls.hasBroken && !this.#isCut(finish)) this.#loseInput()
    this.#events.push({ kind: 'finish', finish })
  }

  /** Who listens to a stream expects half of an input where the answer was cut; whole answers have no place for it. */
  #isCut({ reason }: Finish): boolean {
    return this.#delivery === 'delta' && (reason === 'length' || reason === 'window')
  }

  #loseInput(): void {
    this.#lost.add(`${this.#place}/tool_calls/*/function/arguments`)
  }
}

/** What is passed on as it was written keeps its numbers; there is seldom any, and looking for it costs nothing. */
function parseAnswer(data: Uint8Array, delivery: Delivery): Fields {
  const answer = asFields(parseJson(data)) ?? {}
  const { choices } = answer
  const isKept = Array.isArray(choices) && choices.some((choice) => keeps(choice, delivery))
  return isKept ? (asFields(parseExactly(data)) ?? answer) : answer
}

function keeps(choice: unknown, delivery: Delivery): boolean {
  const message = asFields(choice)?.[delivery]
  if (!isFields(message)) return false
  const { reasoning_details: details, tool_calls: calls, function_call: call } = message
  if (!isBlank(details)) return true
  const entries: readonly unknown[] = Array.isArray(calls) ? calls : []
  return isFields(asFields(call)?.['arguments']) || entries.some(isWrittenOut)
}

/** A call with its input as an object, or with something beside it that its supplier wants back. */
function isWrittenOut(call: unknown): boolean {
  if (!isFields(call)) return false
  const input = asFields(call['function'])?.['arguments']
  return (typeof input === 'object' && input !== null) || !isBlank(call['extra_content'])
}

/** A number or a flag tells of the call and not of the answer. */
function isAside(value: unknown): boolean {
  return typeof asNumber(value) === 'number' || typeof value === 'boolean' || isBlank(value)
}

/** A text, or the parts that it is cut into. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map(textOfPart).join('') : textOfPart(value)
}

function textOfPart(value: unknown): string {
  if (typeof value === 'string') return value
  return isFields(value) && typeof value['text'] === 'string' ? value['text'] : ''
}
