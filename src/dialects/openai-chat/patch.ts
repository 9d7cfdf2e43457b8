// The splices that a relayed chat request gets, and no others: the model's name at the supplier, the
// gateway's own fields taken out, and the usage frame asked for on streams.
import { applySplices, dropMembers, type Member, type Splice } from '../../wire/json-splice.ts'
import type { Facts, Rewrite } from '../dialect.ts'
import { fieldKey } from './fields.ts'

const MODEL = fieldKey('model')
const REGION = fieldKey('region')
const METADATA = fieldKey('metadata')
const STREAM_OPTIONS = fieldKey('stream_options')

export function patch(body: Uint8Array, facts: Facts, rewrite: Rewrite): Uint8Array {
  const { members, metadata } = facts.layout
  const splices = facts.model === rewrite.model ? [] : [rename(members, rewrite.model)]
  if (metadata !== undefined || hasRegion(members)) splices.push(...dropOwn(members, metadata))
  if (facts.stream && rewrite.usage === 'ask' && !facts.asksUsage) splices.push(askUsage(facts))
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

/** Takes the gateway's own fields out. Metadata that held nothing else goes with them. */
function dropOwn(
  members: readonly Member[],
  metadata: readonly Member[] | undefined,
): readonly Splice[] {
  const isSpent = metadata !== undefined && metadata.length > 0 && metadata.every(isListed)
  const dropped = dropMembers(members, ({ key }) => key === REGION || (isSpent && key === METADATA))
  return metadata === undefined || isSpent
    ? dropped
    : [...dropped, ...dropMembers(metadata, isListed)]
}

/** Only the gateway's own names are listed for metadata. */
function isListed({ key }: Member): boolean {
  return key >= 0
}

/** Also a region of null, which is none, and none of the supplier's business. */
function hasRegion(members: readonly Member[]): boolean {
  for (const { key } of members) if (key === REGION) return true
  return false
}

function rename(members: readonly Member[], model: string): Splice {
  const { value, to } = members.find((member) => member.key === MODEL)!
  return { from: value, to, text: JSON.stringify(model) }
}

function askUsage(facts: Facts): Splice {
  const { members, streamOptions, close } = facts.layout
  const field = members.find((member) => member.key === STREAM_OPTIONS)
  if (field === undefined)
    return { from: close, to: close, text: ',"stream_options":{"include_usage":true}' }
  if (streamOptions === undefined)
    return { from: field.value, to: field.to, text: '{"include_usage":true}' }
  const option = streamOptions.find((member) => member.key === 0)
  if (option !== undefined) return { from: option.value, to: option.to, text: 'true' }
  const comma = streamOptions.length > 0 ? ',' : ''
  return { from: field.value + 1, to: field.value + 1, text: `"include_usage":true${comma}` }
}
