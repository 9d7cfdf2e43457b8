// Changes chosen places of a JSON text and leaves every other byte alone. Splices are kept in the order
// of the text and never overlap.

/** Replaces the bytes from `from` to `to` (exclusive). */
export interface Splice {
  readonly from: number
  readonly to: number
  readonly text: string
}

/** A member of an object: from the opening quote of its name to the end of its value. */
export interface Member {
  readonly key: number
  readonly from: number
  readonly value: number
  readonly to: number
}

export function applySplices(bytes: Uint8Array, splices: readonly Splice[]): Uint8Array {
  if (splices.length === 0) return bytes
  let length = bytes.length
  for (const { from, to, text } of splices) length += Buffer.byteLength(text) - (to - from)
  const result = Buffer.allocUnsafe(length)
  let read = 0
  let write = 0
  for (const { from, to, text } of splices) {
    result.set(bytes.subarray(read, from), write)
    write += from - read
    write += result.write(text, write)
    read = to
  }
  result.set(bytes.subarray(read), write)
  return result
}

/** The splices that take members out of their object, each with the one comma that it makes superfluous. */
export function dropMembers(
  members: readonly Member[],
  isDropped: (member: Member) => boolean,
): readonly Splice[] {
  const splices: Splice[] = []
  let keptTo = -1
  for (const [index, member] of members.entries()) {
    if (!isDropped(member)) {
      keptTo = member.to
      continue
    }
    const next = members[index + 1]
    // Up to the next name while one follows; the last one takes the comma before it, and with it the
    // gap that members dropped just before have left.
    if (next !== undefined) splices.push({ from: member.from, to: next.from, text: '' })
    else dropLast(splices, member, keptTo)
  }
  return splices
}

function dropLast(splices: Splice[], member: Member, keptTo: number): void {
  const from = keptTo < 0 ? member.from : keptTo
  while (splices.length > 0 && splices.at(-1)!.from >= from) splices.pop()
  const first = keptTo < 0 ? firstDropped(splices, member) : from
  splices.push({ from: first, to: member.to, text: '' })
}

/** Where an object loses all its members, the gap begins at the first of them. */
function firstDropped(splices: Splice[], member: Member): number {
  const first = splices[0]?.from ?? member.from
  splices.length = 0
  return first
}
