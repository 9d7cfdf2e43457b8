// The frames of a stream as text. They are numbered through, so that what is the same in those of one text is printed
// once and the number is put in between.
import type { Backlog } from '../../backlog.ts'

export class Sequence {
  #next = 0

  /** The number of the next frame. */
  get next(): number {
    return this.#next
  }

  take(): number {
    return this.#next++
  }

  /** `members` are those of its data, after its type and its number. */
  print(type: string, members: string): string {
    return `${openingOf(type)}${this.#next++},${members}}\n\n`
  }
}

/** Up to the number. */
function openingOf(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`
}

interface Shape {
  readonly event: string
  /** What the whole is called when it is done. */
  readonly whole: string
  /** Members behind the text. */
  readonly tail: string
}

const SHAPES = {
  text: { event: 'response.output_text', whole: 'text', tail: ',"logprobs":[]' },
  refusal: { event: 'response.refusal', whole: 'refusal', tail: '' },
  summary: { event: 'response.reasoning_summary_text', whole: 'text', tail: '' },
  input: { event: 'response.function_call_arguments', whole: 'arguments', tail: '' },
} satisfies Record<string, Shape>

export type PieceKind = keyof typeof SHAPES

/** What all of a stream shares. */
export interface Surroundings {
  readonly sequence: Sequence
  /** What is kept of it, because its end repeats all of it. */
  readonly backlog: Backlog
}

/** Something that is told in pieces, and whole when it is done. */
export class Pieces {
  readonly kind: PieceKind
  /** All of it so far. */
  text = ''
  readonly #sequence: Sequence
  readonly #backlog: Backlog
  readonly #place: string
  readonly #opening: string
  readonly #middle: string
  readonly #closing: string

  /** `place` has the members that say where it stands. */
  constructor(kind: PieceKind, { sequence, backlog }: Surroundings, place: string) {
    const { event, tail } = SHAPES[kind]
    this.kind = kind
    this.#sequence = sequence
    this.#backlog = backlog
    this.#place = place
    this.#opening = openingOf(`${event}.delta`)
    this.#middle = `,${place},"delta":`
    this.#closing = `${tail}}\n\n`
  }

  add(text: string): string {
    this.#backlog.add(text.length)
    this.text += text
    return (
      this.#opening + this.#sequence.take() + this.#middle + JSON.stringify(text) + this.#closing
    )
  }

  /** `printed` is all of it; `others` are further members. */
  end(printed: string, others = ''): string {
    const { event, whole, tail } = SHAPES[this.kind]
    const members = `${this.#place},"${whole}":${printed}${tail}${others}`
    return this.#sequence.print(`${event}.done`, members)
  }
}
