// Guards for JSON that a stranger wrote. A value of the wrong kind reads as absent.

export type Json = Readonly<Record<string, unknown>>

export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}
