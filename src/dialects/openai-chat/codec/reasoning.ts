// What suppliers want back untouched with a thought (`reasoning_details`) or with a call (`extra_content`): gathered
// from the pieces of a stream as one would have got it at once, and packed into a seal.
import { ENTRY, sizeOf, type Backlog } from '../../backlog.ts'
import { asNumber } from '../../exact-json.ts'
import { isBlank, isFields, printShallow, type Fields } from '../../json.ts'

/** By name. It is only ever added to: an item may come in as many pieces as a text. */
type Item = Map<string, unknown>

export class Details {
  readonly #backlog: Backlog
  #items: Item[] = []
  /** Where the item of a type and an index stands. */
  readonly #places = new Map<string, number>()
  #size = 0

  constructor(backlog: Backlog) {
    this.#backlog = backlog
  }

  /** Takes what one event brings. Its items go on with those of earlier events, and never with each other. */
  add(items: readonly unknown[]): void {
    const before = this.#items.length
    for (const item of items) if (isFields(item)) this.#put(item, before)
  }

  /** All of them, once. */
  take(): readonly Fields[] {
    const items = this.#items
    if (items.length === 0) return []
    this.#items = []
    this.#places.clear()
    this.#backlog.release(this.#size)
    this.#size = 0
    return items.map((item): Fields => Object.fromEntries(item))
  }

  #put(item: Fields, before: number): void {
    const key = keyOf(item)
    const at = key === undefined ? this.#items.length - 1 : (this.#places.get(key) ?? -1)
    const known = at < before ? this.#items[at] : undefined
    if (known !== undefined && goesOn(known, item)) return this.#join(known, item)
    this.#keep(ENTRY + sizeOf(item))
    if (key !== undefined) this.#places.set(key, this.#items.length)
    this.#items.push(new Map(Object.entries(item)))
  }

  #join(known: Item, item: Fields): void {
    for (const [name, value] of Object.entries(item)) {
      if (isBlank(value)) continue
      const before = known.get(name)
      const isText = GROWING.has(name) && typeof before === 'string' && typeof value === 'string'
      if (isText) this.#keep(value.length)
      else if (known.has(name)) this.#keep(sizeOf(value) - sizeOf(before))
      else this.#keep(name.length + sizeOf(value))
      known.set(name, isText ? before + value : value)
    }
  }

  #keep(size: number): void {
    this.#backlog.add(size)
    this.#size += size
  }
}

function keyOf({ type, index: place }: Fields): string | undefined {
  const index = asNumber(place)
  return typeof index === 'number' ? `${String(type)} ${index}` : undefined
}

/** What is encrypted comes whole, and what is signed is complete. */
function goesOn(known: Item, item: Fields): boolean {
  const id = known.get('id')
  return (
    known.get('type') === item['type'] &&
    asNumber(known.get('index')) === asNumber(item['index']) &&
    isBlank(known.get('data')) &&
    isBlank(known.get('signature')) &&
    (isBlank(id) || isBlank(item['id']) || id === item['id'])
  )
}

const GROWING: ReadonlySet<string> = new Set(['text', 'summary'])

/** What of a thought can be read. */
export function textOfDetails(items: readonly unknown[]): string {
  let text = ''
  for (const item of items) {
    if (!isFields(item)) continue
    if (typeof item['text'] === 'string') text += item['text']
    else if (typeof item['summary'] === 'string') text += item['summary']
  }
  return text
}

/** The data of a seal: details of a thought, what belongs to a call by its id, or both. */
export function packSeal(
  details: readonly Fields[],
  calls: Fields | undefined,
): string | undefined {
  return printShallow({ ...(details.length === 0 ? {} : { details }), ...(calls && { calls }) })
}
