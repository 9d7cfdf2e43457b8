// A chat request in our words: what stands on its first level. Its messages, its tools and how it is to think are
// read beside this file.
import type { ChatRequest, Format } from '../../../core/chat.ts'
import { invalid } from '../../../core/problem.ts'
import type { DecodedRequest } from '../../codec.ts'
import { parseExactly } from '../../exact-json.ts'
import { asFields, isBlank, isFields, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'
import {
  findBoolean,
  findFields,
  findNumber,
  findText,
  isAbsent,
  told,
  getFields,
} from '../../reader.ts'
import { decodeReasoning } from './request-reasoning.ts'
import { decodeTools } from './tools-decode.ts'
import { decodeMessages } from './turns-decode.ts'

const READ = new Set([
  'messages',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'parallel_tool_calls',
  'max_tokens',
  'max_completion_tokens',
  'stop',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'presence_penalty',
  'frequency_penalty',
  'response_format',
  'reasoning_effort',
  'reasoning',
  'user',
  'safety_identifier',
])

/** The gateway's own, whatever the supplier speaks. */
const OWN = ['model', 'stream', 'stream_options', 'region', 'metadata']
const OWN_METADATA = new Set(['session_id', 'sticky_key'])

/** What these ask for is what happens anyway. */
const DEFAULTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  n: (value) => value === 1,
  store: (value) => value === false,
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
  logit_bias: isBlank,
  service_tier: (value) => value === 'auto' || value === 'default' || value === 'standard',
  verbosity: (value) => value === 'medium',
  modalities: (value) => Array.isArray(value) && value.every((each) => each === 'text'),
}

export function decodeRequest(body: Uint8Array): DecodedRequest {
  const fields = asFields(parseExactly(body)) ?? {}
  const lost = new Lost()
  const { system, turns } = decodeMessages(fields['messages'], lost)
  const { tools, toolChoice, parallelTools } = decodeTools(fields, lost)
  const request = told<ChatRequest>({
    system,
    turns,
    tools,
    toolChoice,
    parallelTools,
    maxTokens: decodeLimit(fields, lost),
    stream: fields['stream'] === true,
    stop: decodeStop(fields['stop']),
    temperature: findNumber(fields['temperature'], 'temperature'),
    topP: findNumber(fields['top_p'], 'top_p'),
    topK: findNumber(fields['top_k'], 'top_k'),
    seed: findNumber(fields['seed'], 'seed'),
    presencePenalty: findNumber(fields['presence_penalty'], 'presence_penalty'),
    frequencyPenalty: findNumber(fields['frequency_penalty'], 'frequency_penalty'),
    format: decodeFormat(fields['response_format'], lost),
    reasoning: decodeReasoning(fields, lost),
    user: decodeUser(fields, lost),
  })
  notePenalties(request, lost)
  noteOthers(fields, lost)
  return { request, lost: lost.places, places: lost.said }
}

function noteOthers(fields: Fields, lost: Lost): void {
  const known = new Set([...READ, ...OWN])
  for (const [name, isDefault] of Object.entries(DEFAULTS))
    if (isDefault(fields[name])) known.add(name)
  lost.addOthers('', fields, known)
  const metadata = fields['metadata']
  if (isFields(metadata)) lost.addOthers('/metadata', metadata, OWN_METADATA)
}

/** One of nothing is none, and told only where there is no other. */
function notePenalties({ presencePenalty, frequencyPenalty }: ChatRequest, lost: Lost): void {
  const said = [
    { place: '/presence_penalty', penalty: presencePenalty },
    { place: '/frequency_penalty', penalty: frequencyPenalty },
  ].filter(({ penalty }) => penalty !== undefined)
  const felt = said.filter(({ penalty }) => penalty !== 0)
  for (const { place } of felt.length > 0 ? felt : said) lost.note('penalties', place)
}

/** Two names for one limit, of which the looser counts: so admission has read it. */
function decodeLimit(fields: Fields, lost: Lost): number | undefined {
  for (const name of ['max_tokens', 'max_completion_tokens'])
    if (!isAbsent(fields[name])) lost.note('max_tokens', `/${name}`)
  const limit = findNumber(fields['max_tokens'], 'max_tokens')
  const other = findNumber(fields['max_completion_tokens'], 'max_completion_tokens')
  if (limit === undefined || other === undefined) return limit ?? other
  return Math.max(limit, other)
}

function decodeStop(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.flatMap((each) => {
    const text = findStop(each)
    return isBlank(text) ? [] : [text]
  })
}

function findStop(value: unknown): string {
  if (isAbsent(value)) return ''
  if (typeof value === 'string') return value
  throw invalid('stop', '`stop` must be a string or an array of strings.')
}

function decodeFormat(value: unknown, lost: Lost): Format | undefined {
  const fields = findFields(value, 'response_format')
  switch (fields?.['type']) {
    case undefined:
    case null:
    case 'text':
      return undefined
    case 'json_object':
      return { kind: 'json' }
    case 'json_schema':
      return decodeSchema(fields['json_schema'], lost)
    default:
      // A grammar, or tags: no other language has them.
      lost.add('/response_format')
      return undefined
  }
}

const SCHEMA_FIELDS = new Set(['name', 'description', 'schema', 'strict'])

function decodeSchema(value: unknown, lost: Lost): Format {
  const place = 'response_format.json_schema'
  const fields = getFields(value, place)
  lost.addOthers('/response_format/json_schema', fields, SCHEMA_FIELDS)
  return told<Format & { kind: 'schema' }>({
    kind: 'schema',
    schema: findFields(fields['schema'], `${place}.schema`) ?? {},
    name: findText(fields['name'], `${place}.name`),
    description: findText(fields['description'], `${place}.description`),
    isStrict: findBoolean(fields['strict'], `${place}.strict`),
  })
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
