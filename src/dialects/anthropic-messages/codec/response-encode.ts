// Writes a whole answer in this language. The input of a call goes out in the text in which it came, so that no number
// in it changes.
import type { Answered, AnswerHead, AssistantPart, ThinkingPart } from '../../../core/chat.ts'
import { printSeal } from '../../seal.ts'
import { printFinish, printUsage } from './answer.ts'
import { objectIn } from '../../json-end.ts'

const encoder = new TextEncoder()

export function encodeResponse(answered: Answered, head: AnswerHead): Uint8Array {
  const { parts, finish, usage } = answered
  const blocks = parts.map((part) => printPart(part, head.supplier)).filter((text) => text !== '')
  const id = JSON.stringify(`msg_${head.id}`)
  const model = JSON.stringify(head.model)
  return encoder.encode(
    `{"id":${id},"type":"message","role":"assistant","model":${model},` +
      `"content":[${blocks.join(',')}],${printFinish(finish)},"usage":${printUsage(usage)}}`,
  )
}

/** Empty for what says nothing: callers may not send an empty block back. */
function printPart(part: AssistantPart, supplier: string): string {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? '' : `{"type":"text","text":${JSON.stringify(part.text)}}`
    case 'thinking':
      return printThinking(part, supplier)
    default:
      return printCall(part.id, part.name, objectIn(part.input))
  }
}

function printThinking({ text, seal, isHidden }: ThinkingPart, supplier: string): string {
  if (isHidden !== true && text !== '') {
    const signature = printSeal(supplier, seal?.data ?? '')
    return `{"type":"thinking","thinking":${JSON.stringify(text)},"signature":"${signature}"}`
  }
  return seal === undefined ? '' : printHidden(supplier, seal.data)
}

/** A thought that is all seal. */
export function printHidden(supplier: string, data: string): string {
  return `{"type":"redacted_thinking","data":"${printSeal(supplier, data)}"}`
}

/** `input` is text of an object. */
export function printCall(id: string, name: string, input: string): string {
  const begin = `{"type":"tool_use","id":${JSON.stringify(id)},"name":${JSON.stringify(name)}`
  return `${begin},"input":${input}}`
}
