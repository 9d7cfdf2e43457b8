// The headers of one part of a form, read as RFC 7578 has them and refused where two readers could
// read them in two ways.
import { GatewayError } from '../core/problem.ts'

export interface PartHead {
  readonly name: string
  /** Undefined for a field that is no file. */
  readonly filename: string | undefined
  readonly type: string
}

const NAME_BYTES_MAX = 1024
const TOKEN = "[!#$%&'*+.^_`|~\\w-]+"
const HEADER = new RegExp(`^(${TOKEN}):[ \\t]*(.*?)[ \\t]*$`)
const PARAMETER = new RegExp(
  `[ \\t]*;[ \\t]*(${TOKEN})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|([^;"]*))`,
  'y',
)
const EXTENDED = /^utf-8'[^']*'(.*)$/i
/** A header that holds one of these could be read as two. */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\0-\x08\x0a-\x1f\x7f]/
/** The encodings that change nothing. */
const PLAIN = new Set(['7bit', '8bit', 'binary'])

const decoder = new TextDecoder()

export function readPartHead(bytes: Uint8Array): PartHead {
  const headers = readHeaders(decoder.decode(bytes))
  const [kind, parameters] = readParameters(headers.get('content-disposition') ?? '')
  const name = parameters.get('name')
  if (kind !== 'form-data' || name === undefined || name === '')
    throw broken('Every part of a form needs a header Content-Disposition: form-data with a name.')
  checkEncoding(headers.get('content-transfer-encoding'))
  const filename = parameters.get('filename') ?? extended(parameters.get('filename*'))
  if (isLong(name) || isLong(filename ?? ''))
    throw broken(`The name of a part or of its file exceeds ${NAME_BYTES_MAX} bytes.`)
  return { name, filename, type: headers.get('content-type') ?? 'application/octet-stream' }
}

function checkEncoding(encoding = 'binary'): void {
  if (PLAIN.has(encoding.toLowerCase())) return
  throw broken('Send the parts of a form without a transfer encoding.')
}

function readHeaders(text: string): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  if (text === '') return headers
  for (const line of text.split('\r\n')) {
    const [, name = '', value = ''] = HEADER.exec(line) ?? []
    const key = name.toLowerCase()
    if (key === '' || CONTROLS.test(line) || headers.has(key))
      throw broken('A part of the form has a header that is broken, or one twice.')
    headers.set(key, value)
  }
  return headers
}

/** The value before the first semicolon, and what is said of it behind. */
export function readParameters(
  value: string,
): readonly [kind: string, parameters: ReadonlyMap<string, string>] {
  const parameters = new Map<string, string>()
  const start = value.indexOf(';')
  const kind = (start < 0 ? value : value.slice(0, start)).trim().toLowerCase()
  let at = start < 0 ? value.length : start
  while (at < value.length) {
    PARAMETER.lastIndex = at
    const found = PARAMETER.exec(value)
    if (found === null) {
      if (value.slice(at).trim() === ';') break
      throw broken('A header of the form has parameters that cannot be read.')
    }
    const [, name = '', quoted, plain = ''] = found
    const key = name.toLowerCase()
    if (parameters.has(key)) throw broken(`A header of the form has \`${key}\` twice.`)
    parameters.set(key, quoted?.replaceAll(/\\(["\\])/g, '$1') ?? plain.trim())
    at = PARAMETER.lastIndex
  }
  return [kind, parameters]
}

/** Some clients send names beyond ASCII in this way alone. */
function extended(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  try {
    return decodeURIComponent(EXTENDED.exec(value)?.[1] ?? value)
  } catch {
    // A name that cannot be read is still the name of a file, and nobody is sent it.
    return value
  }
}

function isLong(name: string): boolean {
  return Buffer.byteLength(name) > NAME_BYTES_MAX
}

function broken(text: string): GatewayError {
  return new GatewayError('invalid_request', text)
}
