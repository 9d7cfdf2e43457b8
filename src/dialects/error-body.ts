// The body of a supplier's refusal, in any of the shapes in use. Clients match on a supplier's own code and
// wording, so both survive.
import { splitMessage, type ProblemOrigin } from '../core/problem.ts'
import { isFields, parseJson, type Fields } from './json.ts'

const TEXT_MAX = 4096
const RAW_BYTES_MAX = 16_384

export interface ErrorBody {
  readonly origin: ProblemOrigin
  readonly text: string
  /** All that was said of the error. */
  readonly fields: Fields
}

export function readErrorBody(body: Uint8Array): ErrorBody {
  const raw = body.length <= RAW_BYTES_MAX ? parseJson(body) : undefined
  const fields = findError(raw)
  const type = asText(fields['type'])
  const param = asText(fields['param'])
  const split = splitMessage(asText(fields['message'])?.slice(0, TEXT_MAX) ?? '')
  // A gateway behind this one may show its code in the message alone.
  const code = asCode(fields['code']) ?? split.code
  const origin: ProblemOrigin = {
    ...(code === undefined ? {} : { code }),
    ...(type === undefined ? {} : { type }),
    ...(param === undefined ? {} : { param }),
    ...(raw === undefined ? {} : { raw: fields }),
  }
  const text = split.text === '' ? 'The supplier refused the request without a reason.' : split.text
  return { origin, text, fields }
}

/** An error inside a 200 has no status of its own. */
export function isErrorStatus(status: number): boolean {
  return status >= 400 && status < 600
}

/**
 * The error object of any of the shapes in use: nested, flat, a bare string, a validation detail, and any
 * of these alone in a list (as one supplier sends them: seen in openhanako #394, 2026-04).
 */
function findError(raw: unknown): Fields {
  if (typeof raw === 'string') return { message: raw }
  if (Array.isArray(raw)) return raw.length === 1 ? findError(raw[0]) : {}
  if (!isFields(raw)) return {}
  const { error, message, detail } = raw
  if (isFields(error)) return error
  if (typeof error === 'string') return { ...raw, message: error }
  if (typeof message === 'string') return raw
  // A validation detail may stand where the message belongs (seen in eca #315, 2026-02).
  if (isFields(message)) return { ...raw, message: asSentence(message['detail'] ?? message) }
  return detail === undefined ? raw : { message: asSentence(detail) }
}

function asSentence(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A numeric code keeps its identity as its decimal string. */
function asCode(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : asText(value)
}
