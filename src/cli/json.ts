// JSON as the gateway sends it. People's tables read it loosely, because a newer gateway may say more and
// an older one less; the machine form hands every number on digit for digit.

export type JsonRecord = Readonly<Record<string, unknown>>

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Whatever stands at the address, it is no gateway; the caller says so with the address.
    return undefined
  }
}

/** `0.0000001` would else come back as `1e-7`. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? JSON.rawJSON(context.source)
      : value,
  )
}

export function printJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2)
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : {}
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Texts as they are, everything else as JSON; empty for what is not there. */
export function toText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
