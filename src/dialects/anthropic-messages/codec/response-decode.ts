// Reads a whole answer of this language into ours. What it has no words for is told as lost.
import type { AssistantPart, CallPart, ChatResponse, ThinkingPart } from '../../../core/chat.ts'
import { makeCallId } from '../../call-id.ts'
import { isBlank, isFields, parseJson, printShallow, type Fields } from '../../json.ts'
import { readFinish } from './answer.ts'
import { readInputs } from './answer-input.ts'
import { AnswerLost } from './answer-lost.ts'

export function decodeResponse(answer: Uint8Array): ChatResponse {
  const value = parseJson(answer)
  const fields = isFields(value) ? value : {}
  const content: readonly unknown[] = Array.isArray(fields['content']) ? fields['content'] : []
  const lost = new AnswerLost()
  lost.addAnswerFields(fields)
  const inputs = content.some(hasInput) ? readInputs(answer) : []
  const parts = nameCalls(
    content.flatMap((block, place) => decodeBlock(block, inputs[place], lost) ?? []),
    fields['id'],
  )
  const hasCalls = parts.some(({ kind }) => kind === 'call')
  return {
    parts,
    finish: readFinish(fields['stop_reason'], fields['stop_sequence'], hasCalls),
    lost: lost.places,
  }
}

function nameCalls(parts: readonly AssistantPart[], answerId: unknown): readonly AssistantPart[] {
  let calls = 0
  return parts.map((part) => {
    if (part.kind !== 'call') return part
    calls += 1
    return part.id === '' ? { ...part, id: makeCallId('toolu', answerId, calls - 1) } : part
  })
}

function hasInput(block: unknown): boolean {
  return isFields(block) && block['type'] === 'tool_use' && !isBlank(block['input'])
}

/** Undefined for what says nothing, or nothing in words of ours. */
function decodeBlock(
  block: unknown,
  input: string | undefined,
  lost: AnswerLost,
): AssistantPart | undefined {
  const fields = isFields(block) ? block : {}
  switch (fields['type']) {
    case 'text': {
      lost.addBlockFields(fields)
      const text = textOf(fields, 'text')
      return text === '' ? undefined : { kind: 'text', text }
    }
    case 'thinking':
      lost.addBlockFields(fields)
      return decodeThinking(fields)
    case 'redacted_thinking':
      lost.addBlockFields(fields)
      return decodeHidden(textOf(fields, 'data'))
    case 'tool_use':
      return decodeCall(fields, input, lost)
    default:
      lost.addBlock(fields['type'])
      return undefined
  }
}

function decodeThinking(block: Fields): ThinkingPart | undefined {
  const text = textOf(block, 'thinking')
  const data = textOf(block, 'signature')
  if (data !== '') return { kind: 'thinking', text, seal: { data, supplier: undefined } }
  return text === '' ? undefined : { kind: 'thinking', text }
}

function decodeHidden(data: string): ThinkingPart | undefined {
  if (data === '') return undefined
  return { kind: 'thinking', text: '', seal: { data, supplier: undefined }, isHidden: true }
}

function decodeCall(
  block: Fields,
  input: string | undefined,
  lost: AnswerLost,
): CallPart | undefined {
  const name = textOf(block, 'name')
  if (name === '') {
    lost.addBlock(block['type'])
    return undefined
  }
  lost.addBlockFields(block)
  return { kind: 'call', id: textOf(block, 'id'), name, input: inputOf(block, input, lost) }
}

/** What is blank is no input; what stands there is told as it was written, if that could be found. */
export function inputOf(block: Fields, written: string | undefined, lost: AnswerLost): string {
  const { input } = block
  if (isBlank(input)) return '{}'
  const text = written ?? printShallow(input)
  if (text === undefined) lost.addBlock('input')
  return text ?? '{}'
}

/** Empty where it is none. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}
