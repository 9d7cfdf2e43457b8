// Reads what is sent to the demo's issuer: little, and each parameter at most once (RFC 6749 §3.1). Whatever is wrong
// is an error of RFC 6749 §5.2, thrown where it is found.

export class OAuthRefusal extends Error {
  readonly code: string
  readonly status: number

  constructor(code: string, description: string, status = 400) {
    super(description)
    this.name = 'OAuthRefusal'
    this.code = code
    this.status = status
  }
}

/** Undefined for a parameter that is absent or empty. */
export type Parameters = (name: string) => string | undefined

const BODY_BYTES_MAX = 32 * 1024
const FORM = 'application/x-www-form-urlencoded'

export function readParameters(sent: URLSearchParams): Parameters {
  const names = [...sent.keys()]
  if (new Set(names).size < names.length) throw invalid('A parameter was sent more than once.')
  return (name) => sent.get(name) || undefined
}

export async function readForm(request: Request): Promise<Parameters> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase()
  if (type !== FORM) throw invalid(`Send the parameters as ${FORM}.`)
  return readParameters(new URLSearchParams(await readText(request)))
}

export function getParameter(parameters: Parameters, name: string): string {
  const value = parameters(name)
  if (value === undefined) throw invalid(`The parameter ${name} is missing.`)
  return value
}

export function invalid(description: string): OAuthRefusal {
  return new OAuthRefusal('invalid_request', description)
}

async function readText(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) {
      throw new OAuthRefusal('invalid_request', `Send at most ${BODY_BYTES_MAX} bytes.`, 413)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
