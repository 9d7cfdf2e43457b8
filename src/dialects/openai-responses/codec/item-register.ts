// Which item an event of a stream belongs to. Suppliers leave out indexes, give one index to several items or another
// id to every event: an id that is known goes before an index, and both before the order.
import { ENTRY, type Backlog } from '../../backlog.ts'
import { asNumber } from '../../exact-json.ts'
import type { ItemKind, Source } from './answer-pieces.ts'

/** An item that is being told. */
export interface Item {
  readonly kind: ItemKind
  /** What was told of each of its parts. */
  readonly told: Map<number, string>
  /** Of a thought: the list that it is told from. */
  source: Source | undefined
  /** Of a call: which one it is, once whoever listens knows of it. */
  place: number | undefined
  /** All of it has come. */
  isDone: boolean
}

export class ItemRegister {
  readonly #backlog: Backlog
  readonly #items: Item[] = []
  readonly #byId = new Map<unknown, Item>()
  readonly #byIndex = new Map<unknown, Item>()

  constructor(backlog: Backlog) {
    this.#backlog = backlog
  }

  get items(): readonly Item[] {
    return this.#items
  }

  open(kind: ItemKind, id: unknown, place: unknown): Item {
    this.#backlog.add(ENTRY + (isId(id) ? id.length : 0))
    const told = new Map<number, string>()
    const item: Item = { kind, told, source: undefined, place: undefined, isDone: false }
    this.#items.push(item)
    if (isId(id)) this.#byId.set(id, item)
    const index = asNumber(place)
    if (typeof index === 'number') this.#byIndex.set(index, item)
    return item
  }

  /**
   * Ids differ from event to event at some (seen in mistral.rs #2309, 2026-07), indexes are missing at others (seen in
   * lemonade #3607, 2026-09) or all the same (seen in open-responses-server #63, 2026-04).
   */
  find(kind: ItemKind, id: unknown, index: unknown): Item | undefined {
    return this.findNamed(kind, id) ?? this.findPlaced(kind, index)
  }

  findNamed(kind: ItemKind, id: unknown): Item | undefined {
    const item = isId(id) ? this.#byId.get(id) : undefined
    return item?.kind === kind ? item : undefined
  }

  /** Without an index: what has begun last, and is not done. */
  findPlaced(kind: ItemKind, place: unknown): Item | undefined {
    const index = asNumber(place)
    if (typeof index !== 'number')
      return this.#items.findLast((item) => item.kind === kind && !item.isDone)
    const item = this.#byIndex.get(index)
    return item?.kind === kind ? item : undefined
  }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
