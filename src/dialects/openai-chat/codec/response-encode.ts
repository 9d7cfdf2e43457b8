// Writes a whole answer in the full shape that typed clients expect, nulls included. The language has one text, one
// refusal and one line of thought: what came in several parts is joined.
import type { Answered, AnswerHead, AssistantPart, ThinkingPart } from '../../../core/chat.ts'
import { writeFinish } from './answer-finish.ts'
import { hiddenThought, NO_INPUT, sealedThought, writeUsage, type Detail } from './answer-words.ts'

const encoder = new TextEncoder()

export function encodeResponse(answered: Answered, head: AnswerHead): Uint8Array {
  const { parts, finish, usage } = answered
  const said = {
    hasCalls: parts.some(({ kind }) => kind === 'call'),
    hasRefusal: join(parts, 'refusal') !== '',
  }
  const answer = {
    id: `chatcmpl-${head.id}`,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: writeMessage(parts, head.supplier),
        logprobs: null,
        ...writeFinish(finish, said),
      },
    ],
    usage: writeUsage(usage),
  }
  return encoder.encode(JSON.stringify(answer))
}

function writeMessage(
  parts: readonly AssistantPart[],
  supplier: string,
): Readonly<Record<string, unknown>> {
  const text = join(parts, 'text')
  const refusal = join(parts, 'refusal')
  const thoughts = join(parts, 'thinking')
  const details = parts.flatMap((part) =>
    part.kind === 'thinking' ? writeSeal(part, supplier) : [],
  )
  const calls = parts.flatMap((part) => (part.kind === 'call' ? [part] : []))
  const isSilent = text === '' && (calls.length > 0 || refusal !== '')
  return {
    role: 'assistant',
    content: isSilent ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(thoughts === '' ? {} : { reasoning_content: thoughts }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, input }) => ({
            id,
            type: 'function',
            function: { name, arguments: input === '' ? NO_INPUT : input },
          })),
        }),
  }
}

function join(parts: readonly AssistantPart[], kind: 'text' | 'refusal' | 'thinking'): string {
  let text = ''
  for (const part of parts) if (part.kind === kind) text += part.text
  return text
}

function writeSeal({ text, seal, isHidden }: ThinkingPart, supplier: string): readonly Detail[] {
  if (seal === undefined) return []
  return [
    isHidden === true
      ? hiddenThought(supplier, seal.data)
      : sealedThought(supplier, text, seal.data),
  ]
}
