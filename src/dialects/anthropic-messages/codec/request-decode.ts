// A messages request in words of our own. It was peeked at, so what is read here has the right outline; what our words
// have no place for is told as lost.
import type { ChatRequest, Format, TextPart } from '../../../core/chat.ts'
import type { DecodedRequest } from '../../codec.ts'
import { asNumber, parseExactly } from '../../exact-json.ts'
import { asFields, isFields, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'
import { decodeText } from './blocks-decode.ts'
import { isDefault, wrong } from './request-spot.ts'
import { decodeEffort, decodeReasoning, type Wish } from './thinking-decode.ts'
import { decodeTools } from './tools-decode.ts'
import { blocksOf, Messages } from './turns-decode.ts'

/** Read below, or the gateway's own. */
const REQUEST_FIELDS = new Set([
  'model',
  'messages',
  'max_tokens',
  'stream',
  'system',
  'tools',
  'tool_choice',
  'metadata',
  'region',
  'thinking',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'output_config',
  'output_format',
])
const METADATA_FIELDS = new Set(['user_id', 'session_id', 'sticky_key'])
const OUTPUT_FIELDS = new Set(['effort', 'format'])
const FORMAT_FIELDS = new Set(['type', 'schema'])

export function decodeRequest(body: Uint8Array): DecodedRequest {
  const fields = asFields(parseExactly(body)) ?? {}
  const lost = new Lost()
  lost.addOthers('', fields, REQUEST_FIELDS, isDefault)
  const messages = new Messages(decodeSystem(fields['system'], lost), lost)
  for (const [index, message] of listOf(fields, 'messages').entries()) {
    if (!isFields(message)) throw wrong(`messages[${index}]`, 'must be an object')
    messages.add(message, index)
  }
  const { system, turns } = messages
  const output = decodeOutput(fields, lost)
  const reasoning = decodeReasoning(fields['thinking'], messages.wish ?? output.wish, lost)
  const request: ChatRequest = {
    system,
    turns,
    ...decodeTools(fields, messages.tools, lost),
    stream: fields['stream'] === true,
    stop: decodeStops(fields),
    ...decodeFigures(fields),
    ...(output.format === undefined ? {} : { format: output.format }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...decodeUser(fields['metadata'], lost),
  }
  return { request, lost: lost.places, places: lost.said }
}

function listOf(fields: Fields, name: string): readonly unknown[] {
  const list = fields[name] ?? []
  if (!Array.isArray(list)) throw wrong(name, 'must be an array')
  return list
}

function decodeSystem(value: unknown, lost: Lost): readonly TextPart[] {
  const parts = blocksOf(value ?? [], 'system').flatMap((block, place) => {
    const spot = { param: `system[${place}]`, pointer: '/system/*', lost }
    if (block['type'] === 'text') {
      const part = decodeText(block, spot)
      return part === undefined ? [] : [part]
    }
    lost.addNamed('/system/*', block['type'])
    return []
  })
  if (parts.length > 0) lost.note('system', '/system')
  return parts
}

function decodeStops(fields: Fields): readonly string[] {
  return listOf(fields, 'stop_sequences').map((text, index) => {
    if (typeof text === 'string') return text
    throw wrong(`stop_sequences[${index}]`, 'must be a string')
  })
}

const FIGURES = {
  max_tokens: 'maxTokens',
  temperature: 'temperature',
  top_p: 'topP',
  top_k: 'topK',
} as const

function decodeFigures(
  fields: Fields,
): Partial<Record<(typeof FIGURES)[keyof typeof FIGURES], number>> {
  const figures: Partial<Record<(typeof FIGURES)[keyof typeof FIGURES], number>> = {}
  for (const name of ['max_tokens', 'temperature', 'top_p', 'top_k'] as const) {
    const value = asNumber(fields[name]) ?? undefined
    if (value === undefined) continue
    if (typeof value !== 'number') throw wrong(name, 'must be a number')
    figures[FIGURES[name]] = value
  }
  return figures
}

interface Output {
  readonly wish: Wish | undefined
  readonly format: Format | undefined
}

/** The format had a field of its own before it stood with the effort. */
function decodeOutput(fields: Fields, lost: Lost): Output {
  const output = asFields(fields['output_config']) ?? {}
  lost.addOthers('/output_config', output, OUTPUT_FIELDS, isDefault)
  const wish = decodeEffort(output, '/output_config', lost)
  const older = fields['output_format'] ?? undefined
  const format = output['format'] ?? undefined
  if (format !== undefined && older !== undefined) lost.add('/output_format')
  return {
    wish,
    format:
      format === undefined
        ? decodeFormat(older, '/output_format', lost)
        : decodeFormat(format, '/output_config/format', lost),
  }
}

function decodeFormat(value: unknown, pointer: string, lost: Lost): Format | undefined {
  if (value === undefined) return undefined
  const { type, schema } = asFields(value) ?? {}
  if (!isFields(value) || type !== 'json_schema' || !isFields(schema)) {
    lost.add(pointer)
    return undefined
  }
  lost.addOthers(pointer, value, FORMAT_FIELDS, isDefault)
  lost.note('schema', pointer)
  return { kind: 'schema', schema }
}

function decodeUser(value: unknown, lost: Lost): Pick<ChatRequest, 'user'> {
  const metadata = asFields(value) ?? {}
  lost.addOthers('/metadata', metadata, METADATA_FIELDS, isDefault)
  const user = metadata['user_id'] ?? undefined
  if (typeof user === 'string') return user === '' ? {} : { user }
  if (user !== undefined) lost.add('/metadata/user_id')
  return {}
}
