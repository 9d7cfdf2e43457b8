// How a failed tool is told where a language has no field for it: the text of its result begins with the word.

const ERROR = /^\s*error/i
/** Longer than any white space before a first word. */
const BEGINNING = 64

export function sayFailed(text: string): string {
  return ERROR.test(text.slice(0, BEGINNING)) ? text : `Error: ${text}`
}
