// Ids of calls that their supplier has given none. The same comes out of the same answer, whole or streamed, and another
// of the next answer of a conversation.

export function makeCallId(prefix: string, answerId: unknown, place: number): string {
  const base = typeof answerId === 'string' ? Bun.hash.crc32(answerId) : 0
  return `${prefix}_${base + place}`
}
