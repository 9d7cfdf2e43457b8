// Splits a byte stream into server-sent events however it was sliced, with LF, CRLF or CR, with or
// without a byte order mark. It hands out places in a buffer and copies only what a slice has split.

/** One event: its raw bytes, and the payload of its data lines. */
export interface FrameSink {
  frame(buffer: Uint8Array, from: number, to: number, data: FrameData): void
}

/** Where an event's payload stands; `from` equals `to` when it has none. */
export interface FrameData {
  readonly bytes: Uint8Array
  readonly from: number
  readonly to: number
}

/** An event grew past what the splitter may hold back. */
export class FrameTooLarge extends Error {}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const NONE = new Uint8Array(0)

/** More lines than any payload is written in; each of them costs more than its bytes. */
const DATA_LINES_MAX = 10_000
const JOINED_BYTES_MIN = 1024

class Payload implements FrameData {
  bytes: Uint8Array = NONE
  from = 0
  to = 0
}

export class SseSplitter {
  readonly #sink: FrameSink
  readonly #frameBytesMax: number
  readonly #payload = new Payload()
  /** Bytes of an event that has not ended yet. */
  #carry: Uint8Array = NONE
  #carried = 0
  #isAtStart = true
  /** Work in progress on the current event; offsets into the buffer being read. */
  #frameAt = 0
  #lineAt = 0
  #dataFrom = -1
  #dataTo = -1
  #dataLines = 0
  /** The payload of an event with several data lines, which no longer stands in one piece. */
  #joined: Uint8Array = NONE
  #joinedTo = 0

  constructor(sink: FrameSink, frameBytesMax: number) {
    this.#sink = sink
    this.#frameBytesMax = frameBytesMax
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    if (this.#carried === 0) this.#read(chunk, chunk.length, 0)
    else {
      const resume = this.#append(chunk)
      this.#read(this.#carry, this.#carried, resume)
    }
  }

  /** The stream has ended; an event whose blank line is missing still counts. */
  finish(): void {
    if (this.#carried === 0) return
    const buffer = this.#carry
    const end = this.#carried
    this.#carried = 0
    this.#carry = NONE
    if (this.#lineAt < end) this.#line(buffer, this.#lineAt, buffer[end - 1] === CR ? end - 1 : end)
    this.#emit(buffer, end)
  }

  #append(chunk: Uint8Array): number {
    const resume = this.#carried
    const needed = resume + chunk.length
    if (needed > this.#carry.length) {
      const grown = new Uint8Array(Math.max(needed, this.#carry.length * 2))
      grown.set(this.#carry.subarray(0, resume))
      this.#carry = grown
    }
    this.#carry.set(chunk, resume)
    this.#carried = needed
    return resume
  }

  #read(buffer: Uint8Array, end: number, resume: number): void {
    if (this.#isAtStart && !this.#passMark(buffer, end)) return
    // A search in native code beats a loop over the bytes, and hardly anyone sends a CR.
    let from = Math.max(resume, this.#lineAt)
    // The last slice ended on a CR that was left for this one to explain.
    if (from > this.#lineAt && buffer[from - 1] === CR) from--
    if (find(buffer, CR, from, end) >= 0) this.#readAny(buffer, end, from)
    else this.#readPlain(buffer, end, from)
    this.#keep(buffer, end)
  }

  /** Steps over a byte order mark; false while too few bytes have come to tell. */
  #passMark(buffer: Uint8Array, end: number): boolean {
    if (buffer[0] === 0xef) {
      if (end < 3) {
        this.#keep(buffer, end)
        return false
      }
      if (buffer[1] === 0xbb && buffer[2] === 0xbf) {
        this.#frameAt = 3
        this.#lineAt = 3
      }
    }
    this.#isAtStart = false
    return true
  }

  #readPlain(buffer: Uint8Array, end: number, from: number): void {
    let at = find(buffer, LF, from, end)
    while (at >= 0) {
      this.#endLine(buffer, at, at + 1)
      at = find(buffer, LF, at + 1, end)
    }
  }

  #readAny(buffer: Uint8Array, end: number, from: number): void {
    for (let at = from; at < end; at++) {
      const byte = buffer[at]
      if (byte === LF) this.#endLine(buffer, at, at + 1)
      else if (byte === CR) {
        // A CR at the very end may be half of a CRLF: wait for the byte that tells.
        if (at + 1 === end) return
        const isPair = buffer[at + 1] === LF
        this.#endLine(buffer, at, isPair ? at + 2 : at + 1)
        if (isPair) at++
      }
    }
  }

  #endLine(buffer: Uint8Array, lineEnd: number, nextLine: number): void {
    const lineAt = this.#lineAt
    this.#lineAt = nextLine
    if (lineEnd > lineAt) this.#line(buffer, lineAt, lineEnd)
    else this.#emit(buffer, nextLine)
  }

  /** Notes a data line: `data`, `data:` and `data: ` all begin one; other fields pass unread. */
  #line(buffer: Uint8Array, from: number, to: number): void {
    if (to - from < 4 || buffer[from] !== 0x64 || buffer[from + 1] !== 0x61) return
    if (buffer[from + 2] !== 0x74 || buffer[from + 3] !== 0x61) return
    if (to - from > 4 && buffer[from + 4] !== COLON) return
    let at = Math.min(from + 5, to)
    if (at < to && buffer[at] === SPACE) at++
    this.#addData(buffer, at, to)
  }

  #addData(buffer: Uint8Array, from: number, to: number): void {
    if (++this.#dataLines > DATA_LINES_MAX)
      throw new FrameTooLarge(`an event has more than ${DATA_LINES_MAX} data lines`)
    if (this.#dataLines === 1) {
      this.#dataFrom = from
      this.#dataTo = to
      return
    }
    if (this.#dataLines === 2) this.#join(buffer, this.#dataFrom, this.#dataTo)
    this.#join(LINE_FEED, 0, 1)
    this.#join(buffer, from, to)
  }

  /** Several data lines are one payload with line feeds between them; each is copied once, when it ends. */
  #join(bytes: Uint8Array, from: number, to: number): void {
    const needed = this.#joinedTo + to - from
    if (needed > this.#joined.length) {
      const grown = new Uint8Array(Math.max(needed * 2, JOINED_BYTES_MIN))
      grown.set(this.#joined.subarray(0, this.#joinedTo))
      this.#joined = grown
    }
    this.#joined.set(bytes.subarray(from, to), this.#joinedTo)
    this.#joinedTo = needed
  }

  #emit(buffer: Uint8Array, end: number): void {
    const from = this.#frameAt
    this.#frameAt = end
    const payload = this.#payload
    if (this.#dataLines > 1) {
      payload.bytes = this.#joined
      payload.from = 0
      payload.to = this.#joinedTo
    } else {
      payload.bytes = buffer
      payload.from = Math.max(this.#dataFrom, 0)
      payload.to = Math.max(this.#dataTo, 0)
    }
    this.#dataFrom = -1
    this.#dataTo = -1
    this.#dataLines = 0
    this.#joined = NONE
    this.#joinedTo = 0
    this.#sink.frame(buffer, from, end, payload)
    payload.bytes = NONE
  }

  /** Keeps the unfinished rest in a buffer of its own: the slices already handed out stay untouched. */
  #keep(buffer: Uint8Array, end: number): void {
    const from = this.#frameAt
    const rest = end - from
    if (rest > this.#frameBytesMax)
      throw new FrameTooLarge(`an event exceeds ${this.#frameBytesMax}`)
    if (rest > 0 && (from > 0 || buffer !== this.#carry)) this.#carry = buffer.slice(from, end)
    else if (rest === 0) this.#carry = NONE
    this.#carried = rest
    this.#frameAt = 0
    this.#shift(from)
  }

  #shift(by: number): void {
    this.#lineAt -= by
    if (this.#dataFrom >= 0) {
      this.#dataFrom -= by
      this.#dataTo -= by
    }
  }
}

const LINE_FEED = new Uint8Array([LF])

/** Never looks past the end: a carried buffer has room there, and a slow line would search it every time. */
function find(buffer: Uint8Array, byte: number, from: number, end: number): number {
  if (end === buffer.length) return buffer.indexOf(byte, from)
  const at = buffer.subarray(from, end).indexOf(byte)
  return at < 0 ? at : from + at
}
