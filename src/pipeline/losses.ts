// What a conversion could not carry: places in the caller's own words, few enough for a header and for the books. Lists
// are merged again and again, so that what is printed here is never changed by being printed once more.

/** More than a request of any client was seen to lose. */
const LOSSES_MAX = 32
const PLACE_LENGTH_MAX = 128
/** A header of a few lines passes every proxy. */
const HEADER_LENGTH_MAX = 2048
/** Ends what was cut short: a list, or the name of a place. */
const MORE = '...'

/** Both lists, each place once and in order. */
export function mergeLosses(
  before: readonly string[],
  added: readonly string[],
): readonly string[] {
  if (added.length === 0 && before.length === 0) return before
  const places = new Set<string>()
  for (const place of before) places.add(printPlace(place))
  for (const place of added) places.add(printPlace(place))
  const isCut = places.delete(MORE)
  if (places.size <= LOSSES_MAX && !isCut) return [...places]
  return [...[...places].slice(0, LOSSES_MAX), MORE]
}

const PLAIN = /^[!-+\--~]*$/

/** Callers make up names; what could end a header or a list in one is written as its number. */
function printPlace(place: string): string {
  if (place.length <= PLACE_LENGTH_MAX && PLAIN.test(place)) return place
  // No character is written shorter than it is, so that more of them could not be shown.
  const head = place.slice(0, PLACE_LENGTH_MAX + 1)
  const characters = Array.from(head, printCharacter)
  const text = characters.join('')
  return text.length <= PLACE_LENGTH_MAX ? text : cutShort(characters)
}

/** Half of a character has no bytes of its own. */
function printCharacter(character: string): string {
  return PLAIN.test(character) ? character : encodeURIComponent(character.toWellFormed())
}

function cutShort(characters: readonly string[]): string {
  let text = ''
  for (const character of characters) {
    if (text.length + character.length > PLACE_LENGTH_MAX - MORE.length) break
    text += character
  }
  return text + MORE
}

/** As one line. */
export function printLosses(losses: readonly string[]): string {
  const line = losses.join(', ')
  if (line.length <= HEADER_LENGTH_MAX) return line
  const end = `, ${MORE}`
  return line.slice(0, line.lastIndexOf(',', HEADER_LENGTH_MAX - end.length)) + end
}
