// Tells the calls of one answer from each other. Suppliers leave out indexes, ids or both, and some give one index to
// all: what is begun with a name and an id of its own is a call of its own.
import { ENTRY, sizeOf, type Backlog } from '../../backlog.ts'
import { asNumber } from '../../exact-json.ts'
import { isBlank, type Fields } from '../../json.ts'
import { CallInput } from './answer-input.ts'

/** A call that is being told. */
export class Call {
  readonly place: number
  readonly input: CallInput
  readonly #backlog: Backlog
  #id = ''
  #name = ''
  #extra: unknown
  #waiting = ''
  #isTold = false
  /** What is kept of it until it is told. */
  #size = 0

  constructor(place: number, backlog: Backlog) {
    this.place = place
    this.input = new CallInput(backlog)
    this.#backlog = backlog
    backlog.add(ENTRY)
  }

  /** Empty where its supplier has given none so far. */
  get id(): string {
    return this.#id
  }

  /** Empty until it is known, and once it was told. */
  get name(): string {
    return this.#name
  }

  /** Whoever listens knows of it. */
  get isTold(): boolean {
    return this.#isTold
  }

  /** What a piece says of it before it is told. */
  describe(id: unknown, name: string, extra: unknown): void {
    if (typeof id === 'string' && id !== '' && id !== this.#id) {
      // It is looked at as long as the answer lasts.
      this.#backlog.add(id.length - this.#id.length)
      this.#id = id
    }
    if (this.#name === '' && name !== '') {
      this.#keep(name.length)
      this.#name = name
    }
    if (isBlank(extra)) return
    this.#keep(sizeOf(extra))
    this.#extra = extra
  }

  /** Input that comes before its name. */
  wait(input: string): void {
    this.#keep(input.length)
    this.#waiting += input
  }

  /** All that has waited for its name; nothing of it is kept. */
  tell(): { readonly name: string; readonly extra: unknown; readonly input: string } {
    const told = { name: this.#name, extra: this.#extra, input: this.#waiting }
    this.#isTold = true
    this.#name = ''
    this.#extra = undefined
    this.#waiting = ''
    this.#backlog.release(this.#size)
    this.#size = 0
    return told
  }

  #keep(size: number): void {
    this.#backlog.add(size)
    this.#size += size
  }
}

export class Calls {
  readonly #backlog: Backlog
  readonly #list: Call[] = []
  readonly #byIndex = new Map<number, Call>()
  readonly #byId = new Map<string, Call>()

  constructor(backlog: Backlog) {
    this.#backlog = backlog
  }

  get hasTold(): boolean {
    return this.#list.some(({ isTold }) => isTold)
  }

  get hasUntold(): boolean {
    return this.#list.some(({ isTold }) => !isTold)
  }

  /** The input of one that was told is no object. */
  get hasBroken(): boolean {
    return this.#list.some(({ isTold, input }) => isTold && input.isBroken)
  }

  open(): Call {
    const call = new Call(this.#list.length, this.#backlog)
    this.#list.push(call)
    return call
  }

  /** The call that a piece of a stream belongs to, or a new one. */
  find({ index: place, id }: Fields, name: string): Call {
    const ownId = typeof id === 'string' ? id : ''
    const index = asNumber(place)
    const isPlaced = typeof index === 'number'
    const known = isPlaced ? this.#at(index, ownId, name) : this.#named(ownId, name)
    const call = known ?? this.open()
    if (isPlaced) this.#byIndex.set(index, call)
    // Its first one alone: some make up another for every piece.
    const isNew = ownId !== '' && call.id === '' && !call.isTold
    if (isNew && !this.#byId.has(ownId)) this.#byId.set(ownId, call)
    return call
  }

  /**
   * All parallel calls of some have the same index (seen in gcli2api #406, 2026-08). A later piece with another id and
   * no name begins nothing.
   */
  #at(index: number, id: string, name: string): Call | undefined {
    const call = this.#byIndex.get(index)
    const isOther = call !== undefined && name !== '' && id !== '' && call.id !== ''
    return isOther && call.id !== id ? undefined : call
  }

  /** Without an index: a new id is a new call, and so is a name after a call that is complete. */
  #named(id: string, name: string): Call | undefined {
    if (id !== '') return this.#byId.get(id)
    const last = this.#list.at(-1)
    const isOver = last?.isTold === true && last.input.isWhole
    return isOver && name !== '' ? undefined : last
  }
}
