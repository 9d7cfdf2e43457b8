// Reads what a supplier of this language says, whole or in pieces, into events. One reader for both, so that a stream
// and an answer cannot differ: what comes whole adds what its pieces have not told.
import type { Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { Backlog, ENTRY } from '../../backlog.ts'
import { makeCallId } from '../../call-id.ts'
import { asNumber } from '../../exact-json.ts'
import { asFields, isBlank, isFields, printShallow, type Fields } from '../../json.ts'
import { readFinish } from './answer-finish.ts'
import { isInput } from './answer-items.ts'
import { AnswerLost } from './answer-lost.ts'
import { ASIDES, kindOf, PIECES, type ItemKind, type Piece, type Source } from './answer-pieces.ts'
import { ItemRegister, type Item } from './item-register.ts'

const BREAK: ChatEvent = { kind: 'break' }
/** Between two texts of one thought. */
const GAP = '\n\n'

/** A part of an item, as far as it is text. */
interface Said {
  readonly item: Item
  readonly part: number
  readonly kind: 'text' | 'refusal' | 'thinking'
}

export class AnswerReader {
  readonly #lost = new AnswerLost()
  readonly #isStream: boolean
  readonly #backlog: Backlog
  readonly #register: ItemRegister
  readonly #byCallId = new Map<string, Item>()
  #events: ChatEvent[] = []
  #answerId: unknown
  #calls = 0
  /** Something was told at all; a text or a refusal was; a refusal was. */
  #hasTold = false
  #hasSpoken = false
  #hasRefusal = false
  #isFinished = false
  /** What was said last, if nothing else has come since: another part of its kind needs a break before it. */
  #last: Said | undefined

  constructor(delivery: 'stream' | 'whole') {
    this.#isStream = delivery === 'stream'
    this.#backlog = new Backlog(this.#isStream ? undefined : Infinity)
    this.#register = new ItemRegister(this.#backlog)
  }

  get lost(): readonly string[] {
    return this.#lost.places
  }

  /** Adds to the events what one of a stream says. Nothing follows the last of them. */
  read(event: Fields, events: ChatEvent[]): void {
    if (this.#isFinished) return
    this.#events = events
    const { type } = event
    const piece = PIECES.get(type)
    if (piece !== undefined) this.#add(event, piece)
    else if (type === 'response.output_item.added') this.#announce(event)
    else if (type === 'response.output_item.done') this.#conclude(event)
    else if (type === 'response.completed') this.#complete(asFields(event['response']) ?? {})
    else if (type === 'response.incomplete')
      this.#complete({ status: 'incomplete', ...asFields(event['response']) })
    else this.#pass(event)
  }

  /** The same for an answer that came at once. */
  readAll(response: Fields, events: ChatEvent[]): void {
    this.#events = events
    this.#complete(response)
  }

  #pass(event: Fields): void {
    const { type, response, item_id: id, output_index: index } = event
    this.#answerId ??= asFields(response)?.['id']
    if (type === 'response.output_text.annotation.added') this.#lost.addPart('annotations')
    // What belongs to an item is told by its end.
    else if (!ASIDES.has(type) && isBlank(id) && isBlank(index)) this.#lost.addNamed('', type)
  }

  #add(event: Fields, piece: Piece): void {
    const { item_id: id, output_index: index } = event
    const item =
      this.#register.find(piece.item, id, index) ?? this.#register.open(piece.item, id, index)
    const part = asNumber(event[piece.part])
    this.#tell(item, piece, typeof part === 'number' ? part : 0, textIn(event[piece.text]))
  }

  #tell(
    item: Item,
    { says, isAll }: Pick<Piece, 'says' | 'isAll'>,
    part: number,
    text: string,
  ): void {
    const told = item.told.get(part) ?? ''
    const more = isAll ? restOf(text, told) : text
    if (more === '') return
    if (says === 'content' || says === 'summary') return this.#think(item, says, part, more)
    this.#keep(item, part, told + more, more.length)
    if (says === 'input') this.#give(item, more)
    else this.#say(item, part, says, more)
  }

  /** What comes whole is compared with what its pieces have told. */
  #keep({ told }: Item, part: number, text: string, added: number): void {
    this.#backlog.add(told.has(part) ? added : added + ENTRY)
    told.set(part, text)
  }

  #say(item: Item, part: number, kind: Said['kind'], text: string): void {
    const last = this.#last
    if (last?.item !== item || last.part !== part || last.kind !== kind) {
      if (last?.kind === kind) this.#events.push(BREAK)
      this.#last = { item, part, kind }
      this.#hasTold = true
      if (kind !== 'thinking') this.#hasSpoken = true
      if (kind === 'refusal') this.#hasRefusal = true
    }
    this.#events.push({ kind, text })
  }

  /** A thought comes as it was or as a summary; of who sends both, the one that comes first is told. */
  #think(item: Item, source: Source, part: number, text: string): void {
    item.source ??= source
    if (item.source !== source) return
    const isNext = this.#last?.item === item && this.#last.part !== part
    this.#keep(item, part, (item.told.get(part) ?? '') + text, text.length)
    if (isNext) this.#last = { item, part, kind: 'thinking' }
    this.#say(item, part, 'thinking', isNext ? GAP + text : text)
  }

  /** What comes before the name of a call waits for it. */
  #give({ place }: Item, text: string): void {
    if (place !== undefined) this.#events.push({ kind: 'input', place, text })
  }

  /** Some send none (seen in openai-python #3125, 2026-04). What it holds by then may change until it is done. */
  #announce({ item: fields, output_index: index }: Fields): void {
    if (!isFields(fields)) return
    const { type, id, call_id: callId } = fields
    const kind = kindOf(type)
    const known = this.#register.findNamed('call', id)
    // Who announces a call twice means one.
    if (known !== undefined && known === this.#byCallId.get(textIn(callId))) return
    const item = this.#register.open(kind, id, index)
    if (kind === 'call') this.#begin(item, fields)
    if (kind === 'lost') this.#lost.addItem(type)
  }

  #conclude({ item: fields, output_index: index }: Fields): void {
    if (!isFields(fields)) return
    const kind = kindOf(fields['type'])
    this.#close(this.#find(kind, fields, index) ?? this.#open(kind, fields, index), fields)
  }

  /** A call has a second id, which its caller goes by. */
  #find(kind: ItemKind, fields: Fields, index: unknown): Item | undefined {
    const called = kind === 'call' ? this.#byCallId.get(textIn(fields['call_id'])) : undefined
    const named = this.#register.findNamed(kind, fields['id'])
    return named ?? called ?? this.#register.findPlaced(kind, index)
  }

  #open(kind: ItemKind, { id }: Fields, index: unknown): Item {
    return this.#register.open(kind, id, index)
  }

  /** Tells what of an item was not told in pieces. */
  #close(item: Item, fields: Fields): void {
    if (item.isDone) return
    if (item.kind === 'message') this.#closeMessage(item, fields)
    else if (item.kind === 'thought') this.#closeThought(item, fields)
    else if (item.kind === 'call') this.#closeCall(item, fields)
    else return this.#lost.addItem(fields['type'])
    this.#lost.addItemFields(fields)
    item.isDone = true
  }

  #closeMessage(item: Item, { content }: Fields): void {
    const parts: readonly unknown[] = Array.isArray(content) ? content : [content]
    for (const [part, value] of parts.entries()) {
      const fields = typeof value === 'string' ? { type: 'text', text: value } : asFields(value)
      if (fields === undefined) continue
      const { type, text, refusal } = fields
      if (type === 'refusal')
        this.#tell(item, { says: 'refusal', isAll: true }, part, textIn(refusal))
      else if (type === 'output_text' || type === 'text')
        this.#tell(item, { says: 'text', isAll: true }, part, textIn(text))
      else {
        this.#lost.addPart(type)
        continue
      }
      this.#lost.addPartFields(fields)
    }
  }

  #closeThought(item: Item, fields: Fields): void {
    const texts = { content: textsIn(fields['content']), summary: textsIn(fields['summary']) }
    const shown = item.source ?? (texts.content.some(Boolean) ? 'content' : 'summary')
    const other = shown === 'content' ? 'summary' : 'content'
    for (const [part, text] of texts[shown].entries())
      this.#tell(item, { says: shown, isAll: true }, part, text)
    const unsaid = texts[other].join('')
    if (unsaid !== '' && unsaid !== texts[shown].join('')) this.#lost.add(`/output/*/${other}`)
    this.#seal(item, textIn(fields['encrypted_content']))
  }

  #seal(item: Item, data: string): void {
    if (data === '') return
    if (item.told.size === 0) {
      this.#last = undefined
      this.#hasTold = true
      this.#events.push({ kind: 'hidden', data })
    } else if (this.#last?.item === item) this.#events.push({ kind: 'seal', data })
    // Something else was said in between: it would seal that.
    else this.#lost.add('/output/*/encrypted_content')
  }

  #closeCall(item: Item, fields: Fields): void {
    this.#begin(item, fields)
    this.#tell(item, { says: 'input', isAll: true }, 0, this.#inputIn(fields['arguments']))
    if (item.place === undefined) this.#lost.addItem(fields['type'])
  }

  #begin(item: Item, { name, call_id: callId }: Fields): void {
    if (item.place !== undefined || typeof name !== 'string' || name === '') return
    item.place = this.#calls++
    this.#last = undefined
    this.#hasTold = true
    const id = textIn(callId)
    if (id !== '') this.#remember(id, item)
    const told = id || makeCallId('call', this.#answerId, item.place)
    this.#events.push({ kind: 'call', place: item.place, id: told, name })
    const input = item.told.get(0)
    if (input !== undefined) this.#give(item, input)
  }

  #remember(callId: string, item: Item): void {
    this.#backlog.add(callId.length)
    this.#byCallId.set(callId, item)
  }

  /** Some send the object itself in place of its text. */
  #inputIn(value: unknown): string {
    if (typeof value === 'string') return value
    if (value === undefined || value === null) return ''
    const text = printShallow(value)
    if (text === undefined) this.#loseInput()
    return text ?? ''
  }

  #complete(response: Fields): void {
    this.#answerId ??= response['id']
    const output: readonly unknown[] = Array.isArray(response['output']) ? response['output'] : []
    // All of them are looked up before any is told: what one tells must not make another look known.
    const wanted = output.map((fields, index) => this.#want(fields, index))
    for (const tell of wanted) tell?.()
    if (this.#register.items.some(isUntold)) this.#lost.addItem('function_call')
    this.#lost.addAnswerFields(response)
    this.#isFinished = true
    const said = { hasCalls: this.#calls > 0, hasRefusal: this.#hasRefusal }
    const finish = readFinish(response, said)
    if (this.#register.items.some(isBroken) && !this.#isCut(finish)) this.#loseInput()
    this.#events.push({ kind: 'finish', finish })
  }

  /** Who listens to a stream expects half of an input where the answer was cut; whole answers have no place for it. */
  #isCut({ reason }: Finish): boolean {
    return this.#isStream && (reason === 'length' || reason === 'window')
  }

  #loseInput(): void {
    this.#lost.add('/output/*/arguments')
  }

  /**
   * How to tell what the end says of an item. One that no event has told is told only where nothing stands for it: some
   * put into other items at the end what they have told before (seen in LocalAI #9658, 2026-05).
   */
  #want(fields: unknown, index: number): (() => void) | undefined {
    if (!isFields(fields)) return undefined
    const kind = kindOf(fields['type'])
    const item = this.#find(kind, fields, index)
    if (item !== undefined) return () => this.#close(item, fields)
    const isTold = {
      message: this.#hasSpoken,
      thought: this.#hasTold,
      call: this.#calls > 0 && isBlank(fields['call_id']),
      lost: false,
    }
    if (isTold[kind]) return undefined
    return () => this.#close(this.#open(kind, fields, index), fields)
  }
}

/** Its name never came. */
function isUntold({ kind, place }: Item): boolean {
  return kind === 'call' && place === undefined
}

/** Its input is no object, and not nothing either. */
function isBroken({ kind, place, told }: Item): boolean {
  return kind === 'call' && place !== undefined && !isInput(told.get(0) ?? '')
}

/** What a whole text has beyond what was told of it; nothing where that was another one. */
function restOf(whole: string, told: string): string {
  return whole.startsWith(told) ? whole.slice(told.length) : ''
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function textsIn(list: unknown): readonly string[] {
  if (!Array.isArray(list)) return []
  return list.map((part: unknown) => textIn(asFields(part)?.['text'] ?? part))
}
