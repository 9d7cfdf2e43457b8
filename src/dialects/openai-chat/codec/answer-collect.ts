// What the events of an answer come to when all of them have been told.
import type { AssistantPart, Finish, ThinkingPart } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'

export interface Collected {
  readonly parts: readonly AssistantPart[]
  /** Undefined where none was told. */
  readonly finish: Finish | undefined
}

export function collect(events: readonly ChatEvent[]): Collected {
  const collector = new Collector()
  for (const event of events) collector.take(event)
  return collector
}

class Collector implements Collected {
  readonly parts: AssistantPart[] = []
  finish: Finish | undefined
  readonly #calls = new Map<number, number>()
  /** The last part may go on. */
  #isOpen = false

  take(event: ChatEvent): void {
    switch (event.kind) {
      case 'start':
        return
      case 'text':
      case 'thinking':
      case 'refusal':
        return this.#say(event)
      case 'seal':
        return this.#seal({ data: event.data, supplier: undefined })
      case 'hidden':
        this.#isOpen = false
        return this.#push({
          kind: 'thinking',
          text: '',
          isHidden: true,
          seal: { data: event.data, supplier: undefined },
        })
      case 'break':
        this.#isOpen = false
        return
      case 'call':
        this.#calls.set(event.place, this.parts.length)
        return this.#push({ kind: 'call', id: event.id, name: event.name, input: '' })
      case 'input':
        return this.#addInput(event.place, event.text)
      case 'finish':
        this.finish ??= event.finish
    }
  }

  #push(part: AssistantPart): void {
    this.parts.push(part)
    this.#isOpen = false
  }

  #say(part: Exclude<AssistantPart, { kind: 'call' }>): void {
    const last = this.#isOpen ? this.parts.at(-1) : undefined
    if (last?.kind === part.kind)
      this.parts[this.parts.length - 1] = { ...last, text: last.text + part.text }
    else this.parts.push({ kind: part.kind, text: part.text })
    this.#isOpen = true
  }

  #seal(seal: NonNullable<ThinkingPart['seal']>): void {
    const last = this.#isOpen ? this.parts.at(-1) : undefined
    if (last?.kind === 'thinking') this.parts[this.parts.length - 1] = { ...last, seal }
    else this.parts.push({ kind: 'thinking', text: '', seal })
    this.#isOpen = false
  }

  #addInput(place: number, text: string): void {
    const at = this.#calls.get(place)
    const call = at === undefined ? undefined : this.parts[at]
    if (at !== undefined && call?.kind === 'call')
      this.parts[at] = { ...call, input: call.input + text }
  }
}
