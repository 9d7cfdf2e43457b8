// JSON that a supplier sent, read without trust. Nothing of it is spliced, so the native parser does.

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
