// Fields that a supplier is known to refuse. They are left out when a request is printed, and what they would have said
// is lost like anything else that is not said.
import type { Trait } from '../core/chat.ts'
import type { Fields } from './json.ts'
import type { Quirks } from './quirk.ts'

/** `said` has what each field says of this request. */
export function noteDropped(
  fields: Fields,
  { drop = [] }: Quirks,
  said: Readonly<Record<string, readonly Trait[]>>,
  lost: Set<Trait>,
): void {
  for (const name of drop) {
    if (fields[name] === undefined || !Object.hasOwn(said, name)) continue
    for (const trait of said[name]!) lost.add(trait)
  }
}
