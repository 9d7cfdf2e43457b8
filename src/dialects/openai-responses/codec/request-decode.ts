// A responses request in our words: what stands on its first level. Its items, its tools and how it is to think are read
// beside this file. What one supplier would have to remember cannot be asked of another.
import type { ChatRequest } from '../../../core/chat.ts'
import type { DecodedRequest } from '../../codec.ts'
import { parseExactly } from '../../exact-json.ts'
import { asFields, isBlank, isFields, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'
import { findList, findNumber, findText, isAbsent, told, unsupported } from '../../reader.ts'
import { decodeFormat } from './request-format.ts'
import { decodeReasoning } from './request-reasoning.ts'
import { decodeTools } from './tools-decode.ts'
import { decodeInput } from './turns-decode.ts'

const READ = [
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'text',
  'reasoning',
  'include',
  'user',
  'safety_identifier',
]

/** The gateway's own, whatever the supplier speaks. What is converted is stored nowhere, whoever asks for it. */
const OWN = ['model', 'stream', 'stream_options', 'region', 'metadata', 'store', 'prompt_cache_key']
const OWN_METADATA = new Set(['session_id', 'sticky_key'])

/** What these ask for is what happens anyway. */
const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  background: (value) => value === false,
  truncation: (value) => value === 'disabled',
  top_logprobs: (value) => value === 0,
  service_tier: (value) => value === 'auto' || value === 'default' || value === 'standard',
  context_management: isBlank,
  prompt_cache_retention: (value) => value === 'in_memory',
}

/** The one thing that answers have anyway. */
const SEALS = 'reasoning.encrypted_content'

export function decodeRequest(body: Uint8Array): DecodedRequest {
  const fields = asFields(parseExactly(body)) ?? {}
  refuseState(fields)
  const lost = new Lost()
  const { system, turns, wish } = decodeInput(fields, lost)
  const { tools, toolChoice, parallelTools } = decodeTools(fields, lost)
  const request = told<ChatRequest>({
    system,
    turns,
    tools,
    toolChoice,
    parallelTools,
    maxTokens: findNumber(fields['max_output_tokens'], 'max_output_tokens'),
    stream: fields['stream'] === true,
    stop: [],
    temperature: findNumber(fields['temperature'], 'temperature'),
    topP: findNumber(fields['top_p'], 'top_p'),
    format: decodeFormat(fields['text'], lost),
    reasoning: decodeReasoning(fields['reasoning'], wish, lost),
    user: decodeUser(fields, lost),
  })
  noteIncluded(fields['include'], lost)
  noteOthers(fields, lost)
  return { request, lost: lost.places, places: lost.said }
}

/** Fields that stand for what a supplier has kept. */
const STATE = ['previous_response_id', 'conversation', 'prompt']

function refuseState(fields: Fields): void {
  for (const name of STATE)
    if (!isAbsent(fields[name]))
      throw unsupported(
        name,
        `Send the whole conversation in \`input\`: \`${name}\` stands for what one supplier has kept, and suppliers of another language have not.`,
      )
  if (fields['background'] === true)
    throw unsupported(
      'background',
      'Send `background` as false: suppliers of another language answer at once.',
    )
}

function noteIncluded(value: unknown, lost: Lost): void {
  if (findList(value, 'include').some((name) => name !== SEALS)) lost.add('/include')
}

function noteOthers(fields: Fields, lost: Lost): void {
  const known = new Set([...READ, ...OWN])
  for (const [name, isDefault] of Object.entries(DEFAULTS))
    if (isDefault(fields[name])) known.add(name)
  lost.addOthers('', fields, known)
  const metadata = fields['metadata']
  if (isFields(metadata)) lost.addOthers('/metadata', metadata, OWN_METADATA)
}

/** Two names for one thing, of which the older is the one that everybody reads. */
function decodeUser(fields: Fields, lost: Lost): string | undefined {
  const user = findText(fields['user'], 'user')
  const other = findText(fields['safety_identifier'], 'safety_identifier')
  if (user !== undefined && other !== undefined && user !== other) lost.add('/safety_identifier')
  if ((user ?? other) !== undefined)
    lost.note('user', user === undefined ? '/safety_identifier' : '/user')
  return user ?? other
}
