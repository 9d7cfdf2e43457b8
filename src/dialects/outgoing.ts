// The body of a request that the gateway has written itself, as its supplier wants it: quirks are about whole fields,
// whoever wrote them.
import type { Quirks } from './quirk.ts'

const encoder = new TextEncoder()

/** Prints fields in their order, without those that are undefined. */
export function printBody(fields: Record<string, unknown>, quirks: Quirks): Uint8Array {
  const { drop = [], rename = {}, default: defaults = {} } = quirks
  const sent: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && !drop.includes(name)) sent[rename[name] ?? name] = value
  for (const [name, value] of Object.entries(defaults)) sent[name] ??= value
  return encoder.encode(JSON.stringify(sent))
}
