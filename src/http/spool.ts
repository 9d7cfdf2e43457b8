// A file while it comes in: in memory while it is small, on disk beyond that, so that memory does not grow with
// it. What a process that died has left behind is removed by the next one.
import { chmodSync, mkdirSync, readdirSync, rmSync, unlinkSync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { FormFile } from '../core/form.ts'
import { GatewayError } from '../core/problem.ts'

const MEMORY_BYTES_MAX = 1_048_576
/** Written in one go: much smaller ones cost more than the disk does. */
const WRITE_BYTES = 524_288
/** Half of what a system takes in one go. */
const PIECES_MAX = 512
/** More than any format needs to be known by. */
const HEAD_BYTES = 4096
const PREFIX = 'upload-'
const NAME = /^upload-[\da-f-]{36}$/

/** Removes what a process that died has left in the folder. Nobody else may be using it. */
export function sweepUploads(folder: string): void {
  let names: readonly string[]
  try {
    names = readdirSync(folder)
  } catch {
    // There is no such folder: nobody has uploaded anything large yet.
    return
  }
  for (const name of names) if (NAME.test(name)) rmSync(join(folder, name), { force: true })
}

export class Spool {
  readonly #folder: string
  #pile: Uint8Array[] = []
  #piled = 0
  #head: Uint8Array = new Uint8Array(0)
  #stored: Stored | undefined
  #isDisposed = false
  bytes = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Takes the bytes over: they may be gone as soon as they are on disk. */
  add(bytes: Uint8Array): Promise<void> | undefined {
    this.bytes += bytes.length
    if (this.#head.length < HEAD_BYTES)
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, HEAD_BYTES - this.#head.length)])
    this.#pile.push(bytes)
    this.#piled += bytes.length
    return this.#isFull() ? this.#store() : undefined
  }

  /** All of it has come. */
  async finish(name: string, type: string): Promise<FormFile> {
    const { bytes } = this
    const head = this.#head
    if (this.#stored !== undefined) {
      await this.#store()
      await this.#stored.isWritten()
      return { name, type, bytes, head, ...this.#stored.reading() }
    }
    const content = Buffer.concat(this.#pile)
    this.#pile = []
    return {
      name,
      type,
      bytes,
      head,
      read: (from, length) => Promise.resolve(content.subarray(from, from + length)),
    }
  }

  dispose(): void {
    if (this.#isDisposed) return
    this.#isDisposed = true
    this.#pile = []
    this.#stored?.remove()
  }

  #isFull(): boolean {
    if (this.#stored === undefined) return this.bytes > MEMORY_BYTES_MAX
    return this.#piled >= WRITE_BYTES || this.#pile.length >= PIECES_MAX
  }

  async #store(): Promise<void> {
    this.#stored ??= await Stored.create(this.#folder)
    const pile = this.#pile
    this.#pile = []
    this.#piled = 0
    await this.#stored.append(pile)
  }
}

const doNothing = (): void => {}

class Stored {
  readonly #path: string
  readonly #handle: FileHandle
  #length = 0
  #writing: Promise<void> | undefined

  private constructor(path: string, handle: FileHandle) {
    this.#path = path
    this.#handle = handle
  }

  static async create(folder: string): Promise<Stored> {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // One that was there before may be open to others.
      chmodSync(folder, 0o700)
      const path = join(folder, PREFIX + crypto.randomUUID())
      return new Stored(path, await open(path, 'wx+', 0o600))
    } catch (thrown) {
      throw noRoom(thrown)
    }
  }

  /** Waits for what was to be written before, not for this: meanwhile more may come, and no more than that. */
  async append(pieces: readonly Uint8Array[]): Promise<void> {
    await this.#writing
    this.#writing = this.#write(pieces)
    // Whoever appends next hears of it, or whoever asks whether all is written.
    this.#writing.catch(doNothing)
  }

  /** Rejects where it could not be. */
  async isWritten(): Promise<void> {
    await this.#writing
  }

  async #write(pieces: readonly Uint8Array[]): Promise<void> {
    try {
      for (let rest = pieces; rest.length > 0;) {
        const some = rest.slice(0, PIECES_MAX)
        // oxlint-disable-next-line no-await-in-loop -- the rest of what a disk took in part
        const { bytesWritten } = await this.#handle.writev(some, this.#length)
        this.#length += bytesWritten
        rest = without(rest, bytesWritten)
      }
      for (const piece of pieces) release(piece)
    } catch (thrown) {
      throw noRoom(thrown)
    }
  }

  reading(): Pick<FormFile, 'read'> {
    return {
      read: async (from, length) => {
        const room = Math.max(0, Math.min(length, this.#length - from))
        const buffer = Buffer.allocUnsafe(room)
        let at = 0
        while (at < room) {
          // oxlint-disable-next-line no-await-in-loop -- the rest of what a disk gave in part
          const { bytesRead } = await this.#handle.read(buffer, at, room - at, from + at)
          if (bytesRead === 0) break
          at += bytesRead
        }
        return buffer.subarray(0, at)
      },
    }
  }

  remove(): void {
    // Whoever still reads or writes has it open until then; nobody else can open it any more.
    this.#handle.close().catch(doNothing)
    try {
      unlinkSync(this.#path)
    } catch {
      // Somebody has tidied up: it is gone, as it should be.
    }
  }
}

/** Frees it now: until the collector came by, uploads would pile up in memory. Only what is nobody else's in any part. */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** What is left of the pieces behind the first bytes. */
function without(pieces: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let left = bytes
  let index = 0
  while (index < pieces.length && left >= pieces[index]!.length) left -= pieces[index++]!.length
  const rest = pieces.slice(index)
  if (left > 0) rest[0] = rest[0]!.subarray(left)
  return rest
}

function noRoom(cause: unknown): GatewayError {
  const text = 'The gateway cannot store the file at the moment. Try again later.'
  return new GatewayError('service_unavailable', text, { cause })
}
