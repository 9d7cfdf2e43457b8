// What a request has of each trait, and what is left of it once nobody looks at some. By this a conversion is held to
// its word: whatever differs is a trait that it has said it lost.
import type {
  AssistantPart,
  ChatRequest,
  Source,
  TextPart,
  ThinkingPart,
  Trait,
  Turn,
  UserPart,
} from '../../src/core/chat.ts'

type Part = UserPart | AssistantPart
type Marked = Extract<Part, { readonly cache?: unknown }>

/** The traits that a request has. */
export function traitsOf(request: ChatRequest): ReadonlySet<Trait> {
  const found = new Set<Trait>(scalarsOf(request))
  if (request.system.length > 0) found.add('system')
  for (const part of request.system) addPart(found, part)
  for (const { role, parts } of request.turns) {
    if (role === 'system') found.add('system_between')
    for (const part of parts) addPart(found, part)
  }
  for (const { isStrict, cache } of request.tools) {
    found.add('tools')
    if (isStrict !== undefined) found.add('tool_strict')
    addCache(found, cache)
  }
  return found
}

function scalarsOf(request: ChatRequest): readonly Trait[] {
  const { format } = request
  // Its name alone tells the model nothing.
  const isNamed = format?.kind === 'schema' && format.description !== undefined
  const table: readonly (readonly [Trait, boolean])[] = [
    ['tool_choice', request.toolChoice !== undefined],
    ['parallel_tools', request.parallelTools !== undefined],
    ['stop', request.stop.length > 0],
    ['max_tokens', request.maxTokens !== undefined],
    ['temperature', request.temperature !== undefined],
    ['top_p', request.topP !== undefined],
    ['top_k', request.topK !== undefined],
    ['seed', request.seed !== undefined],
    ['penalties', (request.presencePenalty ?? request.frequencyPenalty) !== undefined],
    ['json', format?.kind === 'json'],
    ['schema', format?.kind === 'schema'],
    ['schema_name', isNamed],
    ['reasoning', request.reasoning !== undefined],
    ['user', request.user !== undefined],
  ]
  return table.flatMap(([trait, isThere]) => (isThere ? [trait] : []))
}

function addCache(found: Set<Trait>, cache: Marked['cache']): void {
  if (cache === undefined) return
  found.add('cache')
  if (cache === 'long') found.add('cache_long')
}

function addPart(found: Set<Trait>, part: Part): void {
  if ('cache' in part) addCache(found, part.cache)
  switch (part.kind) {
    case 'image':
    case 'file':
      found.add(traitOf(part.kind, part.source))
      if ('detail' in part) found.add('image_detail')
      if ('name' in part) found.add('file_name')
      break
    case 'thinking':
      if (part.text !== '') found.add('thinking')
      if (part.seal !== undefined) found.add('seal')
      break
    case 'call':
      found.add('calls')
      if (!isObject(part.input)) found.add('call_input')
      break
    case 'result':
      found.add('results')
      if (part.isError) found.add('result_error')
      for (const each of part.parts) {
        addPart(found, each)
        if (each.kind !== 'text') found.add(`result_${each.kind}`)
      }
      break
    case 'text':
    case 'refusal':
    case 'audio':
      found.add(part.kind)
      break
  }
}

const IMAGE_TRAITS = {
  data: 'image_data',
  url: 'image_url',
  id: 'image_id',
  text: 'image_data',
} as const
const FILE_TRAITS = {
  data: 'file_data',
  url: 'file_url',
  id: 'file_id',
  text: 'file_text',
} as const

function traitOf(kind: 'image' | 'file', source: Source): Trait {
  return kind === 'image' ? IMAGE_TRAITS[source.kind] : FILE_TRAITS[source.kind]
}

/** JSON text of an object. */
export function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** A request as it looks to who does not see these traits. */
export function unseen(request: ChatRequest, traits: ReadonlySet<Trait>): ChatRequest {
  const blinded: Record<string, unknown> = {
    ...request,
    system: traits.has('system') ? [] : request.system.map((part) => unmarked(part, traits)),
    turns: request.turns.flatMap((turn) => turnUnseen(turn, traits)),
    tools: request.tools.map((tool) => {
      const { isStrict, ...rest } = unmarked(tool, traits)
      return isStrict === undefined || traits.has('tool_strict') ? rest : { ...rest, isStrict }
    }),
  }
  if (traits.has('stop')) blinded['stop'] = []
  for (const [trait, names] of Object.entries(FIELDS))
    if (traits.has(trait as Trait)) for (const name of names) delete blinded[name]
  if (traits.has('schema_name') && request.format?.kind === 'schema')
    blinded['format'] = { kind: 'schema', schema: request.format.schema }
  return blinded as unknown as ChatRequest
}

const FIELDS: Partial<Record<Trait, readonly (keyof ChatRequest)[]>> = {
  tool_choice: ['toolChoice'],
  parallel_tools: ['parallelTools'],
  max_tokens: ['maxTokens'],
  temperature: ['temperature'],
  top_p: ['topP'],
  top_k: ['topK'],
  seed: ['seed'],
  penalties: ['presencePenalty', 'frequencyPenalty'],
  json: ['format'],
  schema: ['format'],
  reasoning: ['reasoning'],
  user: ['user'],
}

function turnUnseen(turn: Turn, traits: ReadonlySet<Trait>): readonly Turn[] {
  if (turn.role === 'system' && traits.has('system_between')) return []
  const parts = (turn.parts as readonly Part[]).flatMap((part) => partUnseen(part, traits))
  return parts.length === 0 ? [] : [{ role: turn.role, parts } as Turn]
}

function partUnseen(part: Part, traits: ReadonlySet<Trait>): readonly Part[] {
  switch (part.kind) {
    case 'image': {
      if (traits.has(traitOf('image', part.source))) return []
      const { detail, ...rest } = unmarked(part, traits)
      return [detail === undefined || traits.has('image_detail') ? rest : { ...rest, detail }]
    }
    case 'file': {
      if (traits.has(traitOf('file', part.source))) return []
      const { name, ...rest } = unmarked(part, traits)
      return [name === undefined || traits.has('file_name') ? rest : { ...rest, name }]
    }
    case 'audio':
      return traits.has('audio') ? [] : [part]
    case 'thinking':
      return thoughtUnseen(part, traits)
    case 'call': {
      const { input } = part
      return [{ ...unmarked(part, traits), input: traits.has('call_input') ? '' : input }]
    }
    case 'refusal':
      return traits.has('refusal') ? [] : [part]
    case 'result': {
      const parts = part.parts
        .filter(({ kind }) => kind === 'text' || !traits.has(`result_${kind}`))
        .flatMap((each) => partUnseen(each, traits) as typeof part.parts)
      const isError = part.isError && !traits.has('result_error')
      return [{ ...unmarked(part, traits), parts, isError }]
    }
    default:
      return [unmarked(part, traits)]
  }
}

function thoughtUnseen(part: ThinkingPart, traits: ReadonlySet<Trait>): readonly Part[] {
  if (traits.has(part.text === '' ? 'seal' : 'thinking')) return []
  const { seal, ...rest } = part
  return [seal === undefined || traits.has('seal') ? rest : part]
}

function unmarked<Value extends { readonly cache?: TextPart['cache'] }>(
  value: Value,
  traits: ReadonlySet<Trait>,
): Value {
  const { cache, ...rest } = value
  if (cache === undefined || traits.has('cache')) return rest as Value
  return { ...rest, cache: traits.has('cache_long') ? 'short' : cache } as Value
}

/**
 * What says the same is spelled the same: a default that is named or not. Beside a request that a language was asked
 * to say, it may also have filled in what it cannot do without.
 */
export function settled(request: ChatRequest, asked: ChatRequest = request): ChatRequest {
  const { toolChoice, parallelTools, maxTokens, format, ...rest } = request
  return {
    ...withoutDefaults(rest),
    turns: rest.turns.map(nameless(asked)),
    tools: rest.tools.map(({ isStrict, ...tool }) =>
      isStrict === true ? { ...tool, isStrict } : tool,
    ),
    ...(toolChoice === undefined || toolChoice.mode === 'auto' ? {} : { toolChoice }),
    ...(parallelTools === false ? { parallelTools } : {}),
    ...(maxTokens === undefined || asked.maxTokens === undefined ? {} : { maxTokens }),
    ...(format === undefined ? {} : { format: formatOf(format, asked.format) }),
  }
}

/** How a model chooses its words without being told. */
const DEFAULTS = { temperature: 1, topP: 1, presencePenalty: 0, frequencyPenalty: 0 }

function withoutDefaults<Request extends Partial<ChatRequest>>(request: Request): Request {
  const copy: Record<string, unknown> = { ...request }
  for (const [name, value] of Object.entries(DEFAULTS)) if (copy[name] === value) delete copy[name]
  return copy as Request
}

function formatOf(
  format: NonNullable<ChatRequest['format']>,
  asked: ChatRequest['format'],
): NonNullable<ChatRequest['format']> {
  if (format.kind === 'json' || asked?.kind !== 'schema') return format
  const { kind, schema, name, description } = format
  return {
    kind,
    schema,
    ...(name === undefined || asked.name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
  }
}

/** A file that had no name may have been given one. */
function nameless(asked: ChatRequest): (turn: Turn) => Turn {
  if (traitsOf(asked).has('file_name')) return (turn) => turn
  const traits = new Set<Trait>(['file_name'])
  return (turn) => turnUnseen(turn, traits)[0] ?? turn
}

/** Every text of a request that somebody has written or that stands for bytes: none may be missing in silence. */
export function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(leavesOf)
}
