// How much text a model has put out, for the calls whose supplier does not tell: answer, thoughts and the input
// of tools. What is said in a way that nobody here knows counts for something too: only silence is nothing.
import { isBlank, isFields, printShallow, type Fields } from '../json.ts'

/** Fields of a block that say nothing by themselves. */
const MARKS = new Set(['type', 'id', 'signature', 'caller'])
/** What a tool or a search found is content, and nothing that the model has put out. */
const FINDINGS = /_tool_result$/

/** Bytes of text in a block, whole or as it begins. */
export function outputOfBlock(block: unknown): number {
  if (!isFields(block)) return 0
  if (FINDINGS.test(String(block['type']))) return 1
  const { name, input } = block
  const bytes =
    textBytes(block['text']) +
    textBytes(block['thinking']) +
    textBytes(block['data']) +
    textBytes(block['content']) +
    textBytes(name) +
    (isBlank(input) ? 0 : textBytes(printShallow(input)))
  return bytes === 0 && saysSomething(block) ? 1 : bytes
}

/** Bytes of text in what is added to a block. A signature seals what was thought and is no output of its own. */
export function outputOfDelta(delta: unknown): number {
  if (!isFields(delta)) return 0
  const bytes =
    textBytes(delta['text']) +
    textBytes(delta['thinking']) +
    textBytes(delta['partial_json']) +
    textBytes(delta['content'])
  return bytes === 0 && saysSomething(delta) ? 1 : bytes
}

function saysSomething(fields: Fields): boolean {
  for (const name in fields) if (!MARKS.has(name) && !isBlank(fields[name])) return true
  return false
}

export function textBytes(value: unknown): number {
  return typeof value === 'string' ? Buffer.byteLength(value) : 0
}
