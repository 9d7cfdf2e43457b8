// Transcriptions as callers ask for them and as suppliers answer: the form, the supplier that takes it, and the form
// that it was sent.
import { toPicoUsd } from '../../src/core/money.ts'
import { openaiTranscriptions } from '../../src/dialects/openai-transcriptions/index.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { wav } from './audio-files.ts'
import { ROOT_KEY, supplierAt, type Gateway } from './gateway.ts'
import type { FakeRequest } from './supplier.ts'

export const TRANSCRIPTIONS_PATH = '/v1/audio/transcriptions'

/** Two seconds. */
export const SPEECH: Uint8Array<ArrayBuffer> = new Uint8Array(wav({ frames: 32_000 }))

export type FormFields = readonly (readonly [name: string, value: string])[]

export function formOf(
  fields: FormFields = [['model', 'test-model']],
  file: Uint8Array<ArrayBuffer> | undefined = SPEECH,
): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  form.append('file', new File([file], 'speech.wav', { type: 'audio/wav' }))
  return form
}

export function transcribe(
  { url }: Gateway,
  body: FormData,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fetch(url + TRANSCRIPTIONS_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_KEY}`, ...headers },
    body,
  })
}

/** A thousandth of a dollar for a second. */
export const SECOND_PRICE = { input: toPicoUsd(0), output: toPicoUsd(0), second: toPicoUsd(1e9) }

export function transcriberAt(origin: string, changes: Partial<Supplier> = {}): Supplier {
  return supplierAt(origin, {
    services: [{ dialect: openaiTranscriptions, path: TRANSCRIPTIONS_PATH }],
    models: new Map([
      [
        'test-model',
        {
          as: 'upstream-model',
          prices: [{ from: 0, price: SECOND_PRICE }],
          ownedBy: 'maker',
          task: 'transcription',
        },
      ],
    ]),
    ...changes,
  })
}

/** The form that a supplier was sent, read by somebody else's reader. */
export function sentForm({ headers, body }: FakeRequest): Promise<FormData> {
  return new Response(new Uint8Array(body), {
    headers: { 'content-type': headers.get('content-type') ?? '' },
  }).formData() as Promise<FormData>
}

/** All but the file, in their order. */
export function fieldsOf(form: FormData): FormFields {
  const fields: [string, string][] = []
  // oxlint-disable-next-line unicorn/no-array-for-each -- the declared type has no other way through
  form.forEach((value, name) => {
    if (typeof value === 'string') fields.push([name, value])
  })
  return fields
}

export async function fileOf(
  form: FormData,
): Promise<{ name: string; type: string; bytes: Buffer }> {
  const file = form.get('file')
  if (!(file instanceof File)) throw new Error('no file was sent')
  return { name: file.name, type: file.type, bytes: Buffer.from(await file.arrayBuffer()) }
}
