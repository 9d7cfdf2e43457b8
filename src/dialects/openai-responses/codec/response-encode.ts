// Writes a whole answer. Texts and refusals that stand next to each other are one message; thoughts and calls are
// items of their own.
import type {
  Answered,
  AnswerHead,
  AssistantPart,
  CallPart,
  RefusalPart,
  TextPart,
  ThinkingPart,
} from '../../../core/chat.ts'
import { writeCause } from './answer-finish.ts'
import {
  isWhole,
  itemId,
  printCall,
  printMessage,
  printPart,
  printSummary,
  printThought,
  type Status,
} from './answer-items.ts'
import { NO_INPUT, printResponse } from './answer-words.ts'
import { printSealing } from './reasoning-seal.ts'

const encoder = new TextEncoder()

interface Message {
  readonly kind: 'message'
  readonly parts: (TextPart | RefusalPart)[]
}

type Item = Message | ThinkingPart | CallPart

export function encodeResponse(answered: Answered, head: AnswerHead): Uint8Array {
  const { parts, finish, usage } = answered
  const said = parts.filter(saysSomething)
  const cause = writeCause(
    finish,
    said.some(({ kind }) => kind === 'refusal'),
  )
  const items = gather(said)
  const last = items.length - 1
  const printed = items.map((item, place) => {
    const isOpen = cause !== undefined && (place === last || isBroken(item))
    return printItem(item, place, isOpen ? 'incomplete' : 'completed', head)
  })
  const text = printResponse(
    head,
    cause === undefined
      ? { status: 'completed', items: printed, usage }
      : { status: 'incomplete', cause, items: printed, usage },
  )
  return encoder.encode(text)
}

/** Callers may not send back what is empty. */
function saysSomething(part: AssistantPart): boolean {
  if (part.kind === 'call') return true
  return part.text !== '' || (part.kind === 'thinking' && part.seal !== undefined)
}

function gather(parts: readonly AssistantPart[]): readonly Item[] {
  const items: Item[] = []
  for (const part of parts) {
    const last = items.at(-1)
    if (part.kind === 'call' || part.kind === 'thinking') items.push(part)
    else if (last?.kind === 'message') last.parts.push(part)
    else items.push({ kind: 'message', parts: [part] })
  }
  return items
}

/** Of an answer that was cut, the calls whose input has no end. */
function isBroken(item: Item): boolean {
  return item.kind === 'call' && item.input !== '' && !isWhole(item.input)
}

function printItem(item: Item, place: number, status: Status, head: AnswerHead): string {
  if (item.kind === 'call') {
    const input = JSON.stringify(item.input || NO_INPUT)
    return printCall(itemId('call', head.id, place), status, item, input)
  }
  if (item.kind === 'message') {
    const parts = item.parts.map(({ kind, text }) => printPart(kind, JSON.stringify(text)))
    return printMessage(itemId('message', head.id, place), status, parts)
  }
  const { text, seal, isHidden } = item
  const summary = text === '' ? '' : printSummary(JSON.stringify(text))
  // Marked even where nobody has sealed it: it may come back to a supplier that has never heard of it.
  const sealed = printSealing(head.supplier, seal?.data ?? '', isHidden === true)
  return printThought(itemId('thought', head.id, place), summary, sealed)
}
