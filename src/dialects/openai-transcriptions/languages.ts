// The languages of ISO 639-1 by their two letters: the first letter, and behind it all that may follow.

const LETTERS: readonly (readonly [first: string, seconds: string])[] = [
  ['a', 'abefkmnrsvyz'],
  ['b', 'aegimnors'],
  ['c', 'aehorsuvy'],
  ['d', 'aevz'],
  ['e', 'elnostu'],
  ['f', 'afijory'],
  ['g', 'adlnuv'],
  ['h', 'aeiortuyz'],
  ['i', 'adegikostu'],
  ['j', 'av'],
  ['k', 'agijklmnorsuvwy'],
  ['l', 'abginotuv'],
  ['m', 'ghiklnrsty'],
  ['n', 'abdeglnorvy'],
  ['o', 'cjmrs'],
  ['p', 'ailst'],
  ['q', 'u'],
  ['r', 'mnouw'],
  ['s', 'acdegiklmnoqrstuvw'],
  ['t', 'aeghiklnorstwy'],
  ['u', 'gkrz'],
  ['v', 'eio'],
  ['w', 'ao'],
  ['x', 'h'],
  ['y', 'io'],
  ['z', 'ahu'],
]

export const LANGUAGES: ReadonlySet<string> = new Set(
  LETTERS.flatMap(([first, seconds]) => Array.from(seconds, (second) => first + second)),
)
