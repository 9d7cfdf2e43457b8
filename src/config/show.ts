// What of a file may stand in a message: nothing that looks like a secret, nothing that a terminal would
// obey, and no more than a person reads.

export const HIDDEN = '…'
/** What is looked at of a line or a value: patterns that search take far longer on a long text. */
export const LOOKED_AT_MAX = 400

/** Anywhere in a value: to hide `monkey` costs less than to show what follows `mainkey`. */
export const SECRET_NAME = /credential|key|secret|token|passw|auth|bearer/i
/** Prefixes of the usual credentials, and anything long that no person would make up. */
export const SECRET_LOOK = /\b(?:sk|pk|rk|svc)[-_][\w-]{6,}|\b(?=[\w-]*\d)[\w-]{32,}/
/** A user and a password in front of a host, and whatever an address asks with. */
export const SECRET_PARTS = [/(?<=\/\/)\S*@/, /[^\s/]*:\S*@/, /(?<=\S)\?\S/]
/** For names that people choose: some ids of models are as long as credentials. */
const CREDENTIAL_PREFIX = /\b(?:sk|pk|rk|svc)[-_][\w-]{6,}/i
/** Text of the file that may stand in a message. */
export function show(value: string): string {
  const tidy = tidyText(value.slice(0, LOOKED_AT_MAX))
  const end = findFirst(tidy, [SECRET_LOOK, ...SECRET_PARTS])
  const safe = end === undefined ? tidy : `${tidy.slice(0, end)}${HIDDEN}`
  return safe.length > 40 ? `${safe.slice(0, 39)}${HIDDEN}` : safe
}

/** A name of the file that may stand in a message; one that nobody knows may be anything. */
export function showName(name: string, isKnown: boolean): string {
  if (!isKnown) return show(name)
  const look = CREDENTIAL_PREFIX.exec(name.slice(0, LOOKED_AT_MAX))
  return look === null ? name : `${name.slice(0, look.index)}${HIDDEN}`
}

export function quote(value: string): string {
  return JSON.stringify(show(value))
}

/** Where the first of several patterns begins. */
export function findFirst(value: string, patterns: readonly RegExp[]): number | undefined {
  const places = patterns.map((pattern) => value.search(pattern)).filter((place) => place >= 0)
  return places.length === 0 ? undefined : Math.min(...places)
}

/** One column for each character, and none that a terminal would obey. */
export function tidyText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what must not reach a terminal
  return text.replaceAll('\t', '→').replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/g, '·')
}
