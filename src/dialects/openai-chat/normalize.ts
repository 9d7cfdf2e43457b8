// Fills in what the answers of some suppliers lack of the shape that clients rely on. What a supplier has
// said is kept; only what it left out is added.
import type { Basics, FrameNormalizer, Normalizer } from '../dialect.ts'
import { isBlank, isFields, parseJson, type Fields } from '../json.ts'

const encoder = new TextEncoder()

export const normalize: Normalizer = {
  answer(answer, basics) {
    const fields = parseJson(answer)
    if (!isFields(fields)) return answer
    const whole = {
      ...fields,
      ...readBasics(fields, idOf(basics)),
      object: textOr(fields['object'], 'chat.completion'),
      choices: listOf(fields['choices']).map(completeChoice),
      ...withTotal(fields),
    }
    return encoder.encode(JSON.stringify(whole))
  },

  frames: (basics) => new ChatFrames(idOf(basics)),
}

class ChatFrames implements FrameNormalizer {
  readonly #choices = new Map<number, ChoiceState>()
  /** What a stream has once said of itself holds for the rest of it. */
  #known: Basics

  constructor(basics: Basics) {
    this.#known = basics
  }

  fill(data: Uint8Array): Uint8Array {
    const fields = parseJson(data)
    // Printed on one line, so no text of a model can end the event early.
    const text = JSON.stringify(isFields(fields) ? this.#complete(fields) : fields)
    return encoder.encode(`data: ${text}\n\n`)
  }

  ending(): Uint8Array | undefined {
    const states = [...this.#choices]
    // Who has given one choice its reason gives it to all: one without was cut off.
    if (states.length === 0 || states.some(([, { isStopped }]) => isStopped)) return undefined
    const choices = states.map(([index, { tools }]) => ({
      index,
      delta: {},
      finish_reason: tools.hasAny ? 'tool_calls' : 'stop',
    }))
    return encoder.encode(JSON.stringify({ choices }))
  }

  #complete(fields: Fields): Fields {
    this.#known = readBasics(fields, this.#known)
    return {
      ...fields,
      ...this.#known,
      object: textOr(fields['object'], 'chat.completion.chunk'),
      choices: listOf(fields['choices']).map((choice, index) =>
        completeDelta(choice, index, this.#choices),
      ),
      ...withTotal(fields),
    }
  }
}

export function idOf(basics: Basics): Basics {
  return { ...basics, id: `chatcmpl-${basics.id}` }
}

function readBasics({ id, model, created }: Fields, known: Basics): Basics {
  return {
    id: textOr(id, known.id),
    created: numberOr(created, known.created),
    model: textOr(model, known.model),
  }
}

/** What a stream's choice has shown so far. */
interface ChoiceState {
  hasRole: boolean
  isStopped: boolean
  readonly tools: ToolPlaces
}

/** Where the tool calls of one choice stand. */
class ToolPlaces {
  readonly #places = new Map<string, number>()
  #last = 0
  #next = 0

  get hasAny(): boolean {
    return this.#next > 0
  }

  isNew(id: unknown): id is string {
    return typeof id === 'string' && id !== '' && !this.#places.has(id)
  }

  /** A call without an index is a new one when its id is new, else it goes on with the last. */
  place({ id, index }: Fields): number {
    const isNew = this.isNew(id)
    const known = typeof id === 'string' ? this.#places.get(id) : undefined
    const place = numberOr(index, known ?? (isNew ? this.#next : this.#last))
    if (isNew) this.#places.set(id, place)
    this.#last = place
    this.#next = Math.max(this.#next, place + 1)
    return place
  }
}

/** Without a usage nothing is added: what is missing is missing. */
function withTotal({ usage }: Fields): Fields {
  if (!isFields(usage)) return {}
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage
  if (typeof total === 'number' || typeof input !== 'number' || typeof output !== 'number')
    return {}
  return { usage: { ...usage, total_tokens: input + output } }
}

function completeChoice(choice: unknown, position: number): unknown {
  if (!isFields(choice)) return choice
  const message = isFields(choice['message']) ? choice['message'] : {}
  const hasTools = listOf(message['tool_calls']).length > 0
  return {
    ...choice,
    index: numberOr(choice['index'], position),
    message: {
      content: null,
      refusal: null,
      ...message,
      role: textOr(message['role'], 'assistant'),
    },
    logprobs: choice['logprobs'] ?? null,
    finish_reason: textOr(choice['finish_reason'], hasTools ? 'tool_calls' : 'stop'),
  }
}

function completeDelta(
  choice: unknown,
  position: number,
  choices: Map<number, ChoiceState>,
): unknown {
  if (!isFields(choice)) return choice
  const index = numberOr(choice['index'], position)
  const state = choices.get(index) ?? createState()
  choices.set(index, state)
  state.isStopped ||= !isBlank(choice['finish_reason'])
  const delta = isFields(choice['delta']) ? choice['delta'] : {}
  const role = state.hasRole ? {} : { role: textOr(delta['role'], 'assistant') }
  state.hasRole = true
  const tools = delta['tool_calls']
  return {
    ...choice,
    index,
    delta: {
      ...role,
      ...delta,
      ...(Array.isArray(tools)
        ? { tool_calls: tools.map((tool) => completeTool(tool, state.tools)) }
        : {}),
    },
    finish_reason: choice['finish_reason'] ?? null,
  }
}

function createState(): ChoiceState {
  return { hasRole: false, isStopped: false, tools: new ToolPlaces() }
}

function completeTool(tool: unknown, tools: ToolPlaces): unknown {
  if (!isFields(tool)) return tool
  const isNew = tools.isNew(tool['id'])
  return {
    ...tool,
    index: tools.place(tool),
    ...(isNew ? { type: textOr(tool['type'], 'function') } : {}),
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textOr(value: unknown, fallback: string): string {
  return typeof value === 'string' && value !== '' ? value : fallback
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === 'number' ? value : fallback
}
