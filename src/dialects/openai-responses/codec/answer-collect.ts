// What the events of a whole answer come to: each of its parts is told to its end before the next one begins.
import type { AssistantPart, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'

export interface Collected {
  readonly parts: readonly AssistantPart[]
  /** Undefined where none was told. */
  readonly finish: Finish | undefined
}

type SaidEvent = Extract<ChatEvent, { kind: 'text' | 'thinking' | 'refusal' }>

export function collect(events: readonly ChatEvent[]): Collected {
  const parts: AssistantPart[] = []
  let finish: Finish | undefined
  let before: ChatEvent | undefined
  for (const event of events) {
    if (event.kind === 'finish') ({ finish } = event)
    else put(parts, event, before?.kind === event.kind)
    before = event
  }
  return { parts, finish }
}

function put(parts: AssistantPart[], event: ChatEvent, goesOn: boolean): void {
  switch (event.kind) {
    case 'text':
    case 'thinking':
    case 'refusal':
      say(parts, event, goesOn)
      return
    case 'call':
      parts.push({ kind: 'call', id: event.id, name: event.name, input: '' })
      return
    case 'input':
      replaceLast(parts, 'call', (call) => ({ ...call, input: call.input + event.text }))
      return
    case 'seal':
      replaceLast(parts, 'thinking', (thought) => ({ ...thought, seal: sealOf(event.data) }))
      return
    case 'hidden':
      parts.push({ kind: 'thinking', text: '', isHidden: true, seal: sealOf(event.data) })
      return
    default:
      // A start says nothing by itself, and a break only that what follows does not go on.
      return
  }
}

function say(parts: AssistantPart[], { kind, text }: SaidEvent, goesOn: boolean): void {
  if (!goesOn) parts.push({ kind, text })
  else replaceLast(parts, kind, (part) => ({ ...part, text: part.text + text }))
}

function replaceLast<Kind extends AssistantPart['kind']>(
  parts: AssistantPart[],
  kind: Kind,
  change: (part: Extract<AssistantPart, { kind: Kind }>) => AssistantPart,
): void {
  const last = parts.at(-1)
  if (isOf(last, kind)) parts[parts.length - 1] = change(last)
}

function isOf<Kind extends AssistantPart['kind']>(
  part: AssistantPart | undefined,
  kind: Kind,
): part is Extract<AssistantPart, { kind: Kind }> {
  return part?.kind === kind
}

function sealOf(data: string): { readonly data: string; readonly supplier: undefined } {
  return { data, supplier: undefined }
}
