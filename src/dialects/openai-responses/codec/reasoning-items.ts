// What a model has thought before, as an item of its own. A caller hands back what it was told, with our mark on what is
// sealed; a supplier gets back what it has sealed itself, and nothing else.
import type { ThinkingPart, Trait } from '../../../core/chat.ts'
import { asFields, isBlank, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { findText } from '../../reader.ts'
import { readSealing } from './reasoning-seal.ts'

const ITEM = '/input/*'
const FIELDS = new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content'])
/** Between the texts of one thought. */
const GAP = '\n\n'

/** Undefined where nothing is left of it: neither a word nor a seal. */
export function decodeThought(item: Fields, param: string, lost: Lost): ThinkingPart | undefined {
  lost.addOthers(ITEM, item, FIELDS, isBlank)
  const summary = joinTexts(item['summary'], `${ITEM}/summary`, lost)
  // The summary repeats in fewer words what the content says, where that is told.
  const content = joinTexts(item['content'], `${ITEM}/content`, lost)
  const text = content || summary
  if (text !== '') lost.note('thinking', `${ITEM}/${content === '' ? 'summary' : 'content'}`)
  const sealed = findText(item['encrypted_content'], `${param}.encrypted_content`) ?? ''
  if (sealed !== '') lost.note('seal', `${ITEM}/encrypted_content`)
  if (sealed === '') return text === '' ? undefined : { kind: 'thinking', text }
  const { seal, isHidden } = readSealing(sealed)
  return { kind: 'thinking', text, seal, ...(isHidden && { isHidden }) }
}

function joinTexts(value: unknown, place: string, lost: Lost): string {
  if (isBlank(value)) return ''
  if (!Array.isArray(value)) {
    lost.add(place)
    return ''
  }
  const texts: string[] = []
  for (const part of value) {
    const { text, type } = asFields(part) ?? {}
    if (typeof text === 'string') texts.push(text)
    else lost.addNamed(`${place}/*`, type)
  }
  return texts.join(GAP)
}

/** None where it is another supplier's: who has not sealed it can make nothing of it. */
export function encodeThought(
  part: ThinkingPart,
  supplier: string,
  lost: Set<Trait>,
): readonly Fields[] {
  const { text, seal } = part
  if (seal === undefined || !isOwn(part, supplier)) {
    if (text !== '') lost.add('thinking')
    if (isSealed(part)) lost.add('seal')
    return []
  }
  const texts = text === '' ? [] : text.split(GAP)
  const summary = texts.map((text) => ({ type: 'summary_text', text }))
  return [{ type: 'reasoning', summary, encrypted_content: seal.data }]
}

/** A thought that nobody has sealed may bear our mark all the same; one that could not be read was sealed. */
function isSealed({ seal }: ThinkingPart): boolean {
  return seal !== undefined && (seal.data !== '' || seal.supplier === '')
}

/** A seal that could not be read is nobody's. One that is JSON was made for another language of the same supplier. */
function isOwn({ seal }: ThinkingPart, supplier: string): boolean {
  if (seal === undefined || seal.data === '' || supplier === '') return false
  return seal.supplier === supplier && !seal.data.startsWith('{')
}
