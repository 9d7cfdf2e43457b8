// JSON that somebody else sent, read without trust. Nothing of it is spliced, so the native parser does.

export type Fields = Readonly<Record<string, unknown>>

const decoder = new TextDecoder()

/** Undefined for what is no JSON. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch {
    // Broken JSON is an answer too; whoever asked decides what it means.
    return undefined
  }
}

export function asFields(value: unknown): Fields | undefined {
  return isFields(value) ? value : undefined
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for what says nothing: null, an empty string, an empty list or object. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** As deep as a body may be. What stands inside of a text, or came from a supplier, was not looked at before. */
const DEPTH_MAX = 64

/** Printing what is nested without end takes seconds, and then fails. */
export function isShallow(value: unknown, levels: number = DEPTH_MAX): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  // In place: a list of its values would take longer than all else that is done with a long one.
  if (Array.isArray(value)) return value.every((each) => isShallow(each, levels - 1))
  return Object.values(value).every((each) => isShallow(each, levels - 1))
}

/** Undefined for what is nested too deeply to be passed on. */
export function printShallow(value: unknown): string | undefined {
  return isShallow(value) ? JSON.stringify(value) : undefined
}
