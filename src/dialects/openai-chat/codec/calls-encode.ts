// What calls and tools are called by in a chat request. Suppliers refuse long ids too, so that these are shortened, the
// same one in the same way wherever it stands.
import type { Quirks } from '../../quirk.ts'
import { hash, ToolNames } from '../../tool-names.ts'

/** Longer ones are refused (opencode #12653, 2026-02). */
const ID_LENGTH_MAX = 40

const NINE = /^[a-zA-Z0-9]{9}$/
const NINE_LENGTH = 9

export class CallWords extends ToolNames {
  readonly #callIds: Quirks['callIds']

  constructor({ callIds }: Quirks) {
    super()
    this.#callIds = callIds
  }

  id(own: string): string {
    if (this.#callIds === 'nine') return NINE.test(own) ? own : hash(own, NINE_LENGTH)
    return own.length <= ID_LENGTH_MAX ? own : `call_${hash(own, NINE_LENGTH)}`
  }
}
