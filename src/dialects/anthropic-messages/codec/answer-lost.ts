// What of an answer our words have no place for: blocks, what is added to them, and fields of the answer itself.
import { isBlank, isFields, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'

const NONE: ReadonlySet<string> = new Set()
const BLOCK_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: new Set(['type', 'text']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
  tool_use: new Set(['type', 'id', 'name', 'input']),
}
const ANSWER_FIELDS = new Set([
  'id',
  'type',
  'role',
  'model',
  'content',
  'stop_reason',
  'stop_sequence',
  'usage',
])

export class AnswerLost extends Lost {
  /** A whole block of a kind that has no counterpart, or what is added to one. */
  addBlock(kind: unknown): void {
    this.addNamed('/content/*', kind)
  }

  /** What a known block has that has no counterpart. */
  addBlockFields(block: Fields): void {
    this.addOthers('/content/*', block, BLOCK_FIELDS[String(block['type'])] ?? NONE, isSilent)
  }

  addAnswerFields(answer: Fields): void {
    this.addOthers('', answer, ANSWER_FIELDS, isBlank)
  }
}

/** A model that has called by itself is the rule; one whose program has called is told. */
function isSilent(value: unknown, name: string): boolean {
  return isBlank(value) || (name === 'caller' && isFields(value) && value['type'] === 'direct')
}
