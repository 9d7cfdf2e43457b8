// Ids of the calls of one conversation as the maker takes them: of letters, digits, _ and -, and each once. A call and
// its result are told the same, whatever both were called.

/** The maker refuses any other, which some suppliers of chats make (seen in maximhq/bifrost #5097, 2026-07). */
const ID = /^[\w-]+$/
const OTHER_LETTERS = /[^\w-]/g

/** What is made of an odd id is told from what is made of another. */
function spell(id: string): string {
  if (ID.test(id)) return id
  return `${id.replaceAll(OTHER_LETTERS, '_')}_${Bun.hash(id).toString(36)}`
}

/** Takes calls and results in the order of the conversation: some suppliers count calls anew with every answer. */
export class CallIds {
  readonly #told = new Set<string>()
  /** How often an id has come, and what its last call was told. */
  readonly #calls = new Map<string, { readonly times: number; readonly told: string }>()
  /** What calls were told that have no result yet. */
  #waiting = new Map<string, string[]>()

  call(id: string): string {
    const told = this.#choose(id)
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) this.#waiting.set(id, [told])
    else waiting.push(told)
    return told
  }

  /** Those of one turn come in the order of their calls. */
  result(id: string): string {
    return this.#waiting.get(id)?.shift() ?? this.#calls.get(id)?.told ?? spell(id)
  }

  /** A call that has no result by the end of the user's turn gets none. */
  endTurn(): void {
    if (this.#waiting.size > 0) this.#waiting = new Map()
  }

  #choose(id: string): string {
    const spelled = spell(id)
    let times = (this.#calls.get(id)?.times ?? 0) + 1
    let told = times === 1 ? spelled : `${spelled}_${times}`
    while (this.#told.has(told)) told = `${spelled}_${++times}`
    this.#told.add(told)
    this.#calls.set(id, { times, told })
    return told
  }
}
