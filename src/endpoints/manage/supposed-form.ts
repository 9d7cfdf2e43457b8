// A transcription that is only asked about: JSON with the fields of its form and, in the place of the file, how many
// `seconds` that plays. It is read as the form would be, so that both are refused for the same.
import { missing } from '../../access/fields.ts'
import type { Form, FormFile } from '../../core/form.ts'
import { invalid, quoteName } from '../../core/problem.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { SentForm } from '../../pipeline/call.ts'
import { parseDocument } from './body.ts'

const SECONDS_MAX = 1_000_000
const SECONDS = 'seconds'

export async function supposeForm(
  request: Uint8Array,
  dialect: Dialect,
  defaultModel: string | undefined,
): Promise<SentForm> {
  const { [SECONDS]: value, ...others } = parseDocument(request)
  const seconds = readSeconds(value)
  const entries = Object.entries(others).flatMap(([name, each]) => readField(name, each))
  const form: Form = { entries, fields: new Map(entries), file: SILENCE, fileField: 'file' }
  const facts = await dialect.peekForm!(form, defaultModel)
  return { form, facts: { ...facts, load: { ...facts.load, units: { seconds } } } }
}

function readSeconds(value: unknown): number {
  if (value === undefined || value === null)
    throw missing(SECONDS, 'Send `seconds` in the place of the file: how long the recording plays.')
  const isFine = typeof value === 'number' && Number.isInteger(value) && value >= 1
  if (isFine && value <= SECONDS_MAX) return value
  throw invalid(SECONDS, `Send \`seconds\` as a whole number from 1 to ${SECONDS_MAX}.`)
}

type Field = readonly [name: string, value: string]

/** A list stands for a field that comes more than once; null for one that does not come. */
function readField(name: string, value: unknown): readonly Field[] {
  if (Array.isArray(value)) return value.flatMap((each: unknown) => readField(name, each))
  if (value === undefined || value === null) return []
  if (typeof value === 'string') return [[name, value]]
  if (typeof value === 'number' || typeof value === 'boolean') return [[name, String(value)]]
  throw invalid(quoteName(name), 'Send every field as the text that stands in the form.')
}

/** The shortest WAV that is one: a sample of 8 bits, 8000 of which are a second. */
const SILENT_WAV = Buffer.from(
  '524946462600000057415645666d74201000000001000100401f0000401f00000100080064617461010000008000',
  'hex',
)
const SILENCE: FormFile = {
  name: 'silence.wav',
  type: 'audio/wav',
  bytes: SILENT_WAV.length,
  head: SILENT_WAV,
  read: (from, length) => Promise.resolve(SILENT_WAV.subarray(from, from + length)),
}
