// An answer as its caller reads it: in the form that was asked for, in the order of the inputs, and with whatever its
// supplier has left out. What needs nothing of that passes as the very bytes that came.
import type { Span } from '../../core/load.ts'
import { applySplices, type Splice } from '../../wire/json-splice.ts'
import type { Basics, Expressed, Facts } from '../dialect.ts'
import { readAnswer, type Answer, type Entry } from './answer.ts'
import { askedOf, type Asked, type Format } from './asked.ts'
import { Frame, shift } from './list.ts'
import { likelyTokens, printUsage } from './usage.ts'
import { toBase64, toList } from './vector.ts'

export function express(bytes: Uint8Array, facts: Facts, { model }: Basics): Expressed {
  const asked = askedOf(facts)
  const answer = readAnswer(bytes, asked)
  const format = asked.isQuantized ? undefined : asked.format
  const { entries, isSorted } = answer
  const outer = completeAnswer(answer, facts, model)
  const isSound = isSorted && entries.every((entry) => isComplete(entry, format))
  const losses = lossesOf(asked, entries)
  if (isSound) return { bytes: applySplices(bytes, outer), ...losses }
  const list = entries.map((entry) => expressEntry(bytes, entry, format))
  return { bytes: new Frame(bytes, answer.data, outer).around(list), ...losses }
}

/** A supplier that does not know the field sends vectors of its own length. */
function lossesOf(
  { dimensions, format, isQuantized }: Asked,
  [first]: readonly Entry[],
): Pick<Expressed, 'losses'> {
  const isText = first?.isText === true
  // What is no float was not converted.
  if (isQuantized) return isText === (format === 'base64') ? {} : { losses: ['/encoding_format'] }
  return dimensions === undefined || first?.size === dimensions ? {} : { losses: ['/dimensions'] }
}

/** What the answer lacks beside its embeddings, in the order of its text. */
function completeAnswer(answer: Answer, { load }: Facts, model: string): readonly Splice[] {
  const { open, object, usage, isList, hasModel, reading } = answer
  const { tokens = likelyTokens(load), isWhole, fields } = reading
  const splices: Splice[] = []
  if (!isList) splices.push(setMember(open, 'object', object, '"list"'))
  if (!hasModel) splices.push(setMember(open, 'model', answer.model, JSON.stringify(model)))
  if (!isWhole) splices.push(setMember(open, 'usage', usage, printUsage(fields, tokens)))
  return splices.sort((left, right) => left.from - right.from)
}

/** In the place of a value that will not do; else as the first of an object that has others. */
export function setMember(
  open: number,
  name: string,
  value: Span | undefined,
  text: string,
): Splice {
  return value === undefined
    ? { from: open, to: open, text: `"${name}":${text},` }
    : { from: value.from, to: value.to, text }
}

function isComplete({ hasIndex, hasObject, isText }: Entry, format: Format | undefined): boolean {
  return hasIndex && hasObject && isInForm(isText, format)
}

function isInForm(isText: boolean, format: Format | undefined): boolean {
  return format === undefined || isText === (format === 'base64')
}

/** One embedding by itself, for an input of this place; where nothing is wrong with it, its very bytes. */
export function expressEntry(
  bytes: Uint8Array,
  entry: Entry,
  format: Format | undefined,
  place: number = entry.place,
): Uint8Array {
  const { from, to, index, hasIndex, hasObject, vector, isText } = entry
  const open = from + 1
  const splices: Splice[] = []
  if (!hasObject) splices.push({ from: open, to: open, text: '"object":"embedding",' })
  if (!hasIndex || place !== entry.place)
    splices.push(setMember(open, 'index', index, String(place)))
  if (!isInForm(isText, format))
    splices.push({ from: vector.from, to: vector.to, text: convert(bytes, vector, isText) })
  splices.sort((left, right) => left.from - right.from)
  return applySplices(bytes.subarray(from, to), shift(splices, from))
}

const decoder = new TextDecoder('latin1')

function convert(bytes: Uint8Array, { from, to }: Span, isText: boolean): string {
  const json = decoder.decode(bytes.subarray(from, to))
  return isText ? toList(String(JSON.parse(json))) : toBase64(json)
}
