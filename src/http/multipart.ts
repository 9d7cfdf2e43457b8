// Cuts a multipart body into its parts as it comes, wherever its chunks begin and end. What is held back is
// never more than a boundary or a block of headers; a line that only looks like a boundary is content.
import { GatewayError } from '../core/problem.ts'
import { readPartHead, type PartHead } from './part-head.ts'

/** Hears of the parts in their order. What `add` or `end` returns is waited for before more is read. */
export interface PartSink {
  begin(head: PartHead): void
  add(bytes: Uint8Array): Promise<void> | undefined
  end(): Promise<void> | undefined
}

const HEADER_BYTES_MAX = 16_384
const PARTS_MAX = 64
/** White space that may stand behind a boundary (RFC 2046, 5.1.1). */
const PADDING_MAX = 64

const LINE_END = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')
const DASHES = Buffer.from('--')
const RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09

type State = 'preamble' | 'headers' | 'content' | 'epilogue'
/** What stands behind a boundary; undefined where too little has come to tell. */
type Ending = { readonly kind: 'next' | 'last' | 'none'; readonly at: number } | undefined

export class MultipartParser {
  readonly #delimiter: Buffer
  readonly #sink: PartSink
  #state: State = 'preamble'
  /** The first boundary may stand at the very beginning, without the end of a line before it. */
  #held: Buffer = LINE_END
  #parts = 0

  constructor(boundary: string, sink: PartSink) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
    this.#sink = sink
  }

  async push(chunk: Uint8Array): Promise<void> {
    if (this.#state === 'epilogue') return
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    for (;;) {
      const isStuck = this.#state === 'headers' ? this.#readHeaders() : await this.#readContent()
      if (isStuck || this.#isOver()) return
    }
  }

  /** Nothing more will come. */
  end(): void {
    if (this.#isOver()) return
    const text =
      this.#parts === 0
        ? 'The body holds no part of a form: none begins with the boundary of the Content-Type header.'
        : 'The form is cut off: its last boundary is missing.'
    throw new GatewayError('invalid_request', text)
  }

  #isOver(): boolean {
    return this.#state === 'epilogue'
  }

  /** True where more has to come first. */
  #readHeaders(): boolean {
    const end = this.#held.indexOf(HEADERS_END)
    if (end > HEADER_BYTES_MAX || (end < 0 && this.#held.length > HEADER_BYTES_MAX))
      throw tooMuch(`The headers of a part exceed the limit of ${HEADER_BYTES_MAX} bytes.`)
    if (end < 0) return true
    if (++this.#parts > PARTS_MAX) throw tooMuch(`The form has more than ${PARTS_MAX} parts.`)
    this.#sink.begin(readPartHead(this.#held.subarray(LINE_END.length, end)))
    this.#held = this.#held.subarray(end + HEADERS_END.length)
    this.#state = 'content'
    return false
  }

  async #readContent(): Promise<boolean> {
    const [at, ending] = this.#findBoundary()
    if (ending === undefined) {
      await this.#pass(at)
      return true
    }
    await this.#pass(at)
    if (this.#state === 'content') await this.#sink.end()
    this.#held = this.#held.subarray(ending.at - at)
    this.#state = ending.kind === 'last' ? 'epilogue' : 'headers'
    return false
  }

  /** The next boundary, or how much of what is held comes before it, as far as that can be told. */
  #findBoundary(): readonly [at: number, ending: Ending] {
    let at = this.#held.indexOf(this.#delimiter)
    while (at >= 0) {
      const ending = this.#endingAt(at + this.#delimiter.length)
      if (ending?.kind !== 'none') return [at, ending]
      // It only looks like one. A body may be made of nothing else, so none of them is worth a turn of its own.
      at = this.#held.indexOf(this.#delimiter, at + 1)
    }
    return [this.#beginningAt(), undefined]
  }

  /** Where a boundary may have begun to come; the end where none has, so that little is ever joined to what comes next. */
  #beginningAt(): number {
    const { length } = this.#held
    let at = Math.max(0, length - this.#delimiter.length + 1)
    for (;;) {
      at = this.#held.indexOf(RETURN, at)
      if (at < 0) return length
      if (this.#delimiter.subarray(0, length - at).equals(this.#held.subarray(at))) return at
      at++
    }
  }

  #endingAt(from: number): Ending {
    const held = this.#held
    if (held.length < from + 2) return undefined
    if (held.subarray(from, from + 2).equals(DASHES)) return { kind: 'last', at: held.length }
    let at = from
    while (at - from < PADDING_MAX && (held[at] === SPACE || held[at] === TAB)) at++
    if (held.length < at + 2) return undefined
    const isLine = held.subarray(at, at + 2).equals(LINE_END)
    return { kind: isLine ? 'next' : 'none', at }
  }

  /** Hands on the first bytes of what is held; before the first boundary they are nobody's. */
  async #pass(length: number): Promise<void> {
    const bytes = this.#held.subarray(0, length)
    this.#held = this.#held.subarray(length)
    if (length > 0 && this.#state === 'content') await this.#sink.add(bytes)
  }
}

function tooMuch(text: string): GatewayError {
  return new GatewayError('request_too_large', text)
}
