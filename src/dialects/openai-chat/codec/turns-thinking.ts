// What a model has thought before, in a chat request. A caller hands back what it was told, with our mark on what is
// sealed; a supplier gets back what it sent itself, in the places where it stood.
import type { ThinkingPart, Trait } from '../../../core/chat.ts'
import { parseExactly } from '../../exact-json.ts'
import { asFields, isBlank, isShallow, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import type { Quirks } from '../../quirk.ts'
import { told } from '../../reader.ts'
import { readSeal } from '../../seal.ts'
import { textOfDetails } from './reasoning.ts'

const DETAILS = '/messages/*/reasoning_details'

/** The names by which a message may have it. */
export const THINKING_FIELDS = ['reasoning_content', 'reasoning', 'reasoning_details']

/** The plain text repeats what the details say, where these say it. */
export function decodeThinking(message: Fields, lost: Lost): readonly ThinkingPart[] {
  const plain = findPlain(message, lost)
  const details = decodeDetails(message['reasoning_details'], lost)
  for (const part of details) note(part, DETAILS, DETAILS, lost)
  if (plain === undefined || details.some((part) => part.text !== '')) return details
  lost.note('thinking', plain.place)
  return [{ kind: 'thinking', text: plain.text }, ...details]
}

function findPlain(message: Fields, lost: Lost): { text: string; place: string } | undefined {
  let plain: { text: string; place: string } | undefined
  for (const name of ['reasoning', 'reasoning_content']) {
    const text = message[name]
    const place = `/messages/*/${name}`
    if (typeof text === 'string') plain = text === '' ? plain : { text, place }
    else if (!isBlank(text)) lost.add(place)
  }
  return plain
}

/** Notes where a thought was told, and where its seal. */
function note({ text, seal }: ThinkingPart, place: string, sealPlace: string, lost: Lost): void {
  if (text !== '') lost.note('thinking', place)
  if (seal !== undefined) lost.note('seal', sealPlace)
}

function decodeDetails(value: unknown, lost: Lost): readonly ThinkingPart[] {
  if (isBlank(value)) return []
  if (!Array.isArray(value)) {
    lost.add(DETAILS)
    return []
  }
  return value.flatMap((item: unknown) => {
    const fields = asFields(item) ?? {}
    const part = decodeDetail(fields)
    const { type } = fields
    if (part === undefined) lost.addNamed(`${DETAILS}/*`, type)
    return part === undefined || isEmpty(part) ? [] : [part]
  })
}

function decodeDetail(item: Fields): ThinkingPart | undefined {
  switch (item['type']) {
    case 'reasoning.text':
      return thought(item['text'], item['signature'])
    case 'reasoning.summary':
      return thought(item['summary'], undefined)
    case 'reasoning.encrypted':
      return hidden(item['data'])
    default:
      return undefined
  }
}

function isEmpty({ text, seal }: ThinkingPart): boolean {
  return text === '' && seal === undefined
}

function thought(text: unknown, signature: unknown): ThinkingPart {
  return told<ThinkingPart>({
    kind: 'thinking',
    text: typeof text === 'string' ? text : '',
    seal: typeof signature === 'string' ? readSeal(signature) : undefined,
  })
}

function hidden(data: unknown): ThinkingPart {
  if (typeof data !== 'string') return thought('', undefined)
  return { kind: 'thinking', text: '', seal: readSeal(data), isHidden: true }
}

/** Some suppliers have it among the parts of the content, its text in parts again. */
export function decodeThinkingPart(
  kind: string,
  fields: Fields,
  lost: Lost,
): ThinkingPart | undefined {
  const part = readPart(kind, fields)
  if (part === undefined) return undefined
  const place = `/messages/*/content/*/${kind}`
  note(part, place, part.isHidden === true ? place : '/messages/*/content/*/signature', lost)
  return part
}

function readPart(kind: string, fields: Fields): ThinkingPart | undefined {
  switch (kind) {
    case 'thinking':
      return thought(joinTexts(fields['thinking']), fields['signature'])
    case 'reasoning':
      return thought(joinTexts(fields['reasoning'] ?? fields['text']), fields['signature'])
    case 'redacted_thinking':
      return hidden(fields['data'])
    default:
      return undefined
  }
}

function joinTexts(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  const texts = value.map((item: unknown) => asFields(item)?.['text'])
  return texts.filter((text) => typeof text === 'string').join('')
}

/** What a supplier is told of its own thoughts. */
export interface Restored {
  readonly fields: Readonly<Record<string, unknown>>
  /** What stood beside a call, by the call's id. */
  readonly besideCalls: Map<string, unknown>
}

const encoder = new TextEncoder()

/**
 * The thoughts that this supplier has sealed, by the name that it has for them; it can make nothing of others. What it
 * has sent to be handed back it gets back in any case.
 */
export function restoreThinking(
  parts: readonly ThinkingPart[],
  { supplier, quirks: { thoughts: name = 'none' } }: Maker,
  lost: Set<Trait>,
): Restored {
  const own = parts.filter((part) => isOwn(part, supplier))
  for (const part of parts) if (!isOwn(part, supplier)) noteLost(part, lost)
  if (own.length === 0) return { fields: {}, besideCalls: new Map() }
  const opened = own.map(({ seal }) => open(seal?.data ?? ''))
  if (name === 'none')
    for (const [index, part] of own.entries()) noteLost(part, lost, opened[index])
  const text = name === 'none' ? '' : own.map((part) => part.text).join('')
  const details = opened.flatMap((each) => each.details)
  const fields = {
    ...(text !== '' && { [name]: text }),
    ...(details.length > 0 && { reasoning_details: details }),
  }
  return { fields, besideCalls: new Map(opened.flatMap(({ calls }) => calls)) }
}

interface Maker {
  readonly supplier: string
  readonly quirks: Quirks
}

/** What the seal held may be handed back all the same, and the thought with it. */
function noteLost(
  { text, seal }: ThinkingPart,
  lost: Set<Trait>,
  { details, calls }: Opened = SEALED,
): void {
  if (text !== '' && textOfDetails(details) === '') lost.add('thinking')
  if (seal !== undefined && details.length + calls.length === 0) lost.add('seal')
}

/** A seal that could not be read is nobody's, and so is what is asked of nobody by name. */
function isOwn({ seal }: ThinkingPart, supplier: string): boolean {
  return supplier !== '' && seal?.supplier === supplier
}

interface Opened {
  readonly details: readonly unknown[]
  readonly calls: readonly (readonly [id: string, extra: unknown])[]
}

const SEALED: Opened = { details: [], calls: [] }

/** What the reader of this supplier's answers has put into a seal. */
function open(data: string): Opened {
  const kept = asFields(parseExactly(encoder.encode(data)))
  // Callers can make seals too, and nest in there what admission has not seen.
  if (kept === undefined || !isShallow(kept)) return SEALED
  return {
    details: Array.isArray(kept['details']) ? kept['details'] : [],
    calls: Object.entries(asFields(kept['calls']) ?? {}),
  }
}
