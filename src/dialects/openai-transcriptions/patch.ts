// The form as a supplier gets it: written anew, with the model by the supplier's name, without what is ours, and with the
// file behind the fields. Nothing that a caller has named stands in a header of a part unless it is harmless.
import type { Form, FormFile } from '../../core/form.ts'
import type { StreamedBody } from '../../upstream/client.ts'
import { AUDIO_TYPES, type AudioFormat } from '../../wire/audio/format.ts'
import type { Facts, OutgoingForm, Rewrite } from '../dialect.ts'
import { detailOf, GRANULARITIES, READ_FIELDS, type TranscriptionDetail } from './fields.ts'

type Entry = readonly [name: string, value: string]

/** Much smaller ones cost more than the disk does. */
const PIECE_BYTES = 524_288
const encoder = new TextEncoder()

export function patchForm(form: Form, facts: Facts, rewrite: Rewrite): OutgoingForm {
  const detail = detailOf(facts)!
  const boundary = `form-${crypto.randomUUID()}`
  const fields = applyQuirks(sentFields(form, detail, rewrite), rewrite)
  const head = fields.map(([name, value]) => writeField(boundary, name, value))
  head.push(writeFileHead(boundary, detail.format))
  return {
    body: streamAround(head.join(''), form.file!, `\r\n--${boundary}--\r\n`),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  }
}

/** Ours, or told otherwise. */
const REPLACED = new Set(['model', 'region', 'stream', 'response_format'])

function sentFields(
  form: Form,
  { answer, asksTimes }: TranscriptionDetail,
  { model, formats }: Rewrite,
): readonly Entry[] {
  const isKnown = formats === undefined || formats.includes(answer)
  const isAsked = (form.fields.get('response_format') ?? '') !== ''
  const format: readonly Entry[] = isAsked ? [['response_format', isKnown ? answer : 'json']] : []
  const others = form.entries.filter(([name, value]) => {
    if (REPLACED.has(name)) return false
    // Times of words are refused beside any format but the one that has them.
    if (asksTimes && !isKnown && name === GRANULARITIES) return false
    return value !== '' || !READ_FIELDS.some((each) => each === name)
  })
  return [['model', model], ...format, ...others]
}

function applyQuirks(fields: readonly Entry[], rewrite: Rewrite): readonly Entry[] {
  const { drop = [], rename = {}, default: defaults = {} } = rewrite
  const kept = fields.filter(([name]) => !drop.includes(name))
  const named = kept.map(([name, value]): Entry => [
    Object.hasOwn(rename, name) ? rename[name]! : name,
    value,
  ])
  const sent = new Set(named.map(([name]) => name))
  const added = Object.entries(defaults).flatMap(([name, value]): readonly Entry[] =>
    sent.has(name) || !isPlain(value) ? [] : [[name, String(value)]],
  )
  return [...named, ...added]
}

/** A form has no word for more. */
function isPlain(value: unknown): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function writeField(boundary: string, name: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
}

/** Many suppliers go by the ending of the name, so it says what the bytes are. */
function writeFileHead(boundary: string, format: AudioFormat): string {
  const disposition = `form-data; name="file"; filename="audio.${format}"`
  return `--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${AUDIO_TYPES[format]}\r\n\r\n`
}

/** The file between two texts, read while it is sent. */
function streamAround(before: string, file: FormFile, after: string): StreamedBody {
  const head = encoder.encode(before)
  const tail = encoder.encode(after)
  return {
    bytes: head.length + file.bytes + tail.length,
    open() {
      let at = -1
      const source = {
        async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
          if (at < 0) {
            at = 0
            controller.enqueue(head)
          } else if (at < file.bytes) {
            const piece = await file.read(at, PIECE_BYTES)
            if (piece.length === 0) throw new RangeError('the file has become shorter')
            at += piece.length
            controller.enqueue(piece)
          } else {
            controller.enqueue(tail)
            controller.close()
          }
        },
      }
      // Nothing is read ahead: what waits for its turn would only be in memory.
      return new ReadableStream<Uint8Array>(source, { highWaterMark: 0 })
    },
  }
}
