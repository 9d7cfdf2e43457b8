// Audio as readers of its containers see it: bytes at places, a window of them at a time, so that no file is ever in
// memory as a whole and whoever walks through one waits for the disk now and then.

export interface AudioSource {
  readonly bytes: number
  /** Some bytes of it; fewer where it ends before. */
  read(from: number, length: number): Promise<Uint8Array>
}

/** The file says something that cannot be, in words for whoever sent it. */
export class AudioFault extends Error {
  override readonly name = 'AudioFault'
}

const WINDOW_BYTES = 65_536
/** More than the thriftiest real file takes; one that is made to take more would keep the process busy for seconds. */
const STEPS_MAX = 3_000_000

export class AudioWindow {
  readonly bytes: number
  readonly #source: AudioSource
  #held: Buffer = Buffer.alloc(0)
  #from = 0
  #steps = 0

  constructor(source: AudioSource) {
    this.#source = source
    this.bytes = source.bytes
  }

  /** Counts what its reader does, in steps of about a third of a microsecond. */
  step(steps: number): void {
    this.#steps += steps
    if (this.#steps > STEPS_MAX)
      throw new AudioFault('The file is made of more pieces than can be looked at.')
  }

  /** At most `length` bytes from this place on: all that there are, or undefined where they are not at hand. */
  peek(from: number, length: number): Buffer | undefined {
    const at = from - this.#from
    const isThere = at >= 0 && at + length <= this.#held.length
    return isThere ? this.#held.subarray(at, at + length) : undefined
  }

  /** The first place of some bytes from here on; the end of the file where there is none. Few bytes at a time. */
  async find(pattern: Buffer, from: number): Promise<number> {
    for (let at = from; at + pattern.length <= this.bytes;) {
      const piece = await this.#ahead(at, pattern.length)
      if (piece.length < pattern.length) break
      const found = piece.indexOf(pattern)
      if (found >= 0) return at + found
      at += piece.length - pattern.length + 1
    }
    return this.bytes
  }

  async #ahead(from: number, length: number): Promise<Buffer> {
    if (this.peek(from, length) === undefined) await this.load(from, WINDOW_BYTES)
    return this.#held.subarray(from - this.#from)
  }

  /** As `peek`, but read where it must be. Fewer bytes only at the end. */
  async load(from: number, length: number): Promise<Buffer> {
    const known = this.peek(from, length)
    if (known !== undefined) return known
    const bytes = await this.#source.read(from, Math.max(length, WINDOW_BYTES))
    this.#held = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#from = from
    return this.#held.subarray(0, length)
  }
}
