// Fills in what the answers of some suppliers lack of the shape that clients rely on. What a supplier has
// said is kept; only what it left out is added.
import type { Basics, Normalizer } from '../dialect.ts'
import { isFields, parseJson, type Fields } from './json.ts'

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

  frames(basics) {
    const choices = new Map<unknown, ChoiceState>()
    // What a stream has once said of itself holds for the rest of it.
    let known = idOf(basics)
    const complete = (fields: Fields): Fields => {
      known = readBasics(fields, known)
      return {
        ...fields,
        ...known,
        object: textOr(fields['object'], 'chat.completion.chunk'),
        choices: listOf(fields['choices']).map((choice, index) =>
          completeDelta(choice, index, choices),
        ),
        ...withTotal(fields),
      }
    }
    return (data) => {
      const fields = parseJson(data)
      // Printed on one line, so no text of a model can end the event early.
      const text = JSON.stringify(isFields(fields) ? complete(fields) : fields)
      return encoder.encode(`data: ${text}\n\n`)
    }
  },
}

function idOf(basics: Basics): Basics {
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
  /** Ids of its tool calls in the order of their indices. */
  readonly tools: string[]
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
  choices: Map<unknown, ChoiceState>,
): unknown {
  if (!isFields(choice)) return choice
  const index = numberOr(choice['index'], position)
  const state = choices.get(index) ?? { hasRole: false, tools: [] }
  choices.set(index, state)
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
        ? { tool_calls: tools.map((tool) => completeTool(tool, state)) }
        : {}),
    },
    finish_reason: choice['finish_reason'] ?? null,
  }
}

/** A call without an index is a new one when its id is new, else it goes on with the last. */
function completeTool(tool: unknown, { tools }: ChoiceState): unknown {
  if (!isFields(tool)) return tool
  const { id, index } = tool
  const isNew = typeof id === 'string' && id !== '' && !tools.includes(id)
  if (isNew) tools.push(id)
  const last = Math.max(0, tools.length - 1)
  return {
    ...tool,
    index: numberOr(index, typeof id === 'string' && id !== '' ? tools.indexOf(id) : last),
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
