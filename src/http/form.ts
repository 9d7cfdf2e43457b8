// Reads a multipart form within limits of size, time and number, part by part as it comes. A file that is large goes to
// disk, so that memory does not grow with it; nothing of a form is looked at before its caller is known.
import type { Clock } from '../core/clock.ts'
import type { Form, FormFile } from '../core/form.ts'
import { GatewayError } from '../core/problem.ts'
import { isBehind, lengthOf, tooLarge, watched, type Reader } from './body.ts'
import { MultipartParser, type PartSink } from './multipart.ts'
import { readParameters, type PartHead } from './part-head.ts'
import { Spool } from './spool.ts'

export interface FormLimits {
  /** Of the whole body. */
  readonly bodyBytesMax: number
  /** Of the file. */
  readonly fileBytesMax: number
  /** Where a file goes that is too large for memory. */
  readonly folder: string
}

export interface ReadForm {
  readonly form: Form
  /** SHA-256 of all that it holds, whatever the order of its parts and the boundary between them. Reads all of it. */
  digest(): Promise<Uint8Array>
  /** Lets go of what is on disk; may be called more than once. */
  dispose(): void
}

const FIELD_BYTES_MAX = 65_536
/** At a time: about half a millisecond. */
const HASHED_BYTES = 524_288
/** RFC 2046, 5.1.1. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/

const doNothing = (): void => {}

/** Multipart and nothing else: other types are refused before their body is read. */
export function requireForm(request: Request): void {
  boundaryOf(request)
}

export async function readForm(
  request: Request,
  limits: FormLimits,
  clock: Clock,
): Promise<ReadForm> {
  const boundary = boundaryOf(request)
  const encoding = request.headers.get('content-encoding')?.toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity')
    throw new GatewayError('unsupported_media_type', 'Send the form without a content encoding.')
  lengthOf(request, limits.bodyBytesMax)
  const upload = new Upload(request.body?.getReader(), boundary, limits)
  const isLate = (waitedMs: number): boolean => {
    const isOver = isBehind(upload.received, waitedMs)
    if (isOver) upload.giveUp()
    return isOver
  }
  return watched(clock, isLate, () => upload.read())
}

function boundaryOf({ headers }: Request): string {
  const type = headers.get('content-type') ?? ''
  // A comma may stand in a boundary that is quoted, and else only between two headers of one name.
  if (type.replaceAll(/"[^"]*"/g, '').includes(','))
    throw new GatewayError('invalid_request', 'Send the Content-Type header once.')
  if (!/^\s*multipart\/form-data\s*(?:;|$)/i.test(type))
    throw new GatewayError(
      'unsupported_media_type',
      'Send a form as `Content-Type: multipart/form-data`.',
    )
  const [, parameters] = readParameters(type)
  const boundary = parameters.get('boundary') ?? ''
  if (BOUNDARY.test(boundary)) return boundary
  const text =
    'The Content-Type header must name the boundary of the form, of at most 70 characters.'
  throw new GatewayError('invalid_request', text)
}

/** One form on its way in. Whatever goes wrong, nothing of it stays on disk. */
class Upload {
  readonly #reader: Reader | undefined
  readonly #limits: FormLimits
  readonly #parser: MultipartParser
  readonly #collector: Collector
  #isGivenUp = false
  received = 0

  constructor(reader: Reader | undefined, boundary: string, limits: FormLimits) {
    this.#reader = reader
    this.#limits = limits
    this.#collector = new Collector(limits)
    this.#parser = new MultipartParser(boundary, this.#collector)
  }

  async read(): Promise<ReadForm> {
    try {
      await this.#readAll()
      this.#parser.end()
      return this.#collector.finish()
    } catch (thrown) {
      this.giveUp()
      this.#collector.dispose()
      throw thrown
    }
  }

  /** Nothing more is read, not even to be thrown away. */
  giveUp(): void {
    if (this.#isGivenUp) return
    this.#isGivenUp = true
    void this.#reader?.cancel().catch(doNothing)
  }

  async #readAll(): Promise<void> {
    for (;;) {
      const { done, value } = (await this.#reader?.read()) ?? { done: true }
      if (value !== undefined) await this.#take(value)
      // Who was too slow has been told so; what came since must not be kept.
      if (this.#isGivenUp) throw new GatewayError('request_timeout')
      if (done) return
    }
  }

  async #take(chunk: Uint8Array): Promise<void> {
    this.received += chunk.length
    if (this.received > this.#limits.bodyBytesMax) throw tooLarge(this.#limits.bodyBytesMax)
    await this.#parser.push(chunk)
  }
}

interface Field {
  readonly name: string
  readonly pieces: Uint8Array[]
  bytes: number
}

/** Takes the parts apart into fields and the one file. */
class Collector implements PartSink {
  readonly #limits: FormLimits
  readonly #entries: [name: string, value: string][] = []
  #head: PartHead | undefined
  #field: Field | undefined
  #fileHead: PartHead | undefined
  #spool: Spool | undefined
  #file: FormFile | undefined

  constructor(limits: FormLimits) {
    this.#limits = limits
  }

  begin(head: PartHead): void {
    this.#head = head
    if (head.filename === undefined) {
      this.#field = { name: head.name, pieces: [], bytes: 0 }
      return
    }
    if (this.#spool !== undefined)
      throw new GatewayError('invalid_request', 'Send one file: the form has more than one.')
    this.#field = undefined
    this.#fileHead = head
    this.#spool = new Spool(this.#limits.folder)
  }

  add(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#field !== undefined) return addTo(this.#field, bytes)
    const spool = this.#spool!
    if (spool.bytes + bytes.length > this.#limits.fileBytesMax)
      throw fileTooLarge(this.#limits.fileBytesMax)
    return spool.add(bytes)
  }

  end(): Promise<void> | undefined {
    if (this.#field === undefined) return this.#endFile()
    this.#entries.push([this.#field.name, decode(this.#field)])
    return undefined
  }

  async #endFile(): Promise<void> {
    const { filename, type } = this.#head!
    this.#file = await this.#spool!.finish(filename!, type)
  }

  finish(): ReadForm {
    const form: Form = {
      fields: new Map(this.#entries),
      entries: this.#entries,
      file: this.#file,
      fileField: this.#fileHead?.name,
    }
    return { form, digest: () => digestOf(form), dispose: () => this.dispose() }
  }

  dispose(): void {
    this.#spool?.dispose()
  }
}

/** Of fields that share a name the order counts: of most the last is meant. */
async function digestOf({ entries, file, fileField }: Form): Promise<Uint8Array> {
  const counts = new Map<string, number>()
  const marks = entries.map(([name, value]) => {
    const place = counts.get(name) ?? 0
    counts.set(name, place + 1)
    return markOf([name, place, value])
  })
  if (file !== undefined)
    marks.push(markOf([fileField, file.name, file.type, await fileDigestOf(file)]))
  const hash = new Bun.CryptoHasher('sha256')
  for (const mark of marks.toSorted()) hash.update(mark)
  return hash.digest()
}

function markOf(part: readonly unknown[]): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(part)).digest('hex')
}

async function fileDigestOf(file: FormFile): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  for (let at = 0; at < file.bytes;) {
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other, and others between them
    const piece = await file.read(at, HASHED_BYTES)
    if (piece.length === 0) throw new RangeError('the file has become shorter')
    hash.update(piece)
    at += piece.length
  }
  return hash.digest('hex')
}

function addTo(field: Field, bytes: Uint8Array): undefined {
  field.bytes += bytes.length
  if (field.bytes > FIELD_BYTES_MAX)
    throw new GatewayError(
      'request_too_large',
      `A field of the form exceeds the limit of ${FIELD_BYTES_MAX / 1024} KiB.`,
    )
  field.pieces.push(bytes)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode({ pieces }: Field): string {
  try {
    return decoder.decode(Buffer.concat(pieces))
  } catch (thrown) {
    throw new GatewayError('invalid_request', 'A field of the form is not valid UTF-8.', {
      cause: thrown,
    })
  }
}

function fileTooLarge(bytesMax: number): GatewayError {
  const size = `${Number((bytesMax / 1_048_576).toFixed(2))} MiB`
  return new GatewayError('request_too_large', `The file exceeds the limit of ${size}.`, {
    param: 'file',
  })
}
