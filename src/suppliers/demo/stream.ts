// The same answer as server-sent events. Pieces and closing are kept apart, because a model that
// breaks off sends some pieces and no closing.
import type { Call, Choice } from './answer.ts'
import { headOf, logprobsOf, usageOf } from './completion.ts'
import type { Json } from './json.ts'
import type { DemoRequest } from './request.ts'
import { splitEvenly, splitWords } from './text.ts'

export interface Streamed {
  readonly pieces: readonly string[]
  readonly closing: string
}

const ARGUMENT_FRAGMENTS = 3

export function streamOf(
  request: DemoRequest,
  choices: readonly Choice[],
  reportsUsage: boolean,
): Streamed {
  const includesUsage = reportsUsage && request.includeUsage
  const head = headOf(request, 'chat.completion.chunk')
  const print = (chunk: Json): string => `data: ${JSON.stringify({ ...head, ...chunk })}\n\n`
  // Whoever asked for usage gets the key on every chunk, null until the last: so does OpenAI's stream.
  const printChoice = (choice: Json): string =>
    print(includesUsage ? { choices: [choice], usage: null } : { choices: [choice] })

  const lines = choices.map((choice) => deltasOf(request, choice))
  const finishes = choices.map(({ index, finish }) =>
    printChoice({ index, delta: {}, logprobs: null, finish_reason: finish }),
  )
  const usage = includesUsage ? print({ choices: [], usage: usageOf(request, choices) }) : ''
  return {
    pieces: interleave(lines).map(printChoice),
    closing: `${finishes.join('')}${usage}data: [DONE]\n\n`,
  }
}

/** Choices take turns, as they do where several are generated at once. */
function interleave(lines: readonly (readonly Json[])[]): readonly Json[] {
  const longest = Math.max(...lines.map((line) => line.length))
  const turns = Array.from({ length: longest }, (_, turn) => turn)
  return turns.flatMap((turn) => lines.flatMap((line) => line.slice(turn, turn + 1)))
}

function deltasOf(request: DemoRequest, choice: Choice): readonly Json[] {
  const { index } = choice
  const quiet = (delta: Json): Json => ({ index, delta, logprobs: null, finish_reason: null })
  return [
    quiet({ role: 'assistant', content: '', refusal: null }),
    ...splitWords(choice.reasoning).map((piece) => quiet({ reasoning_content: piece })),
    ...splitWords(choice.content ?? '').map((piece) => ({
      ...quiet({ content: piece }),
      logprobs: logprobsOf(request, [piece]),
    })),
    ...choice.calls.flatMap(callDeltas).map((call) => quiet({ tool_calls: [call] })),
  ]
}

function callDeltas(call: Call, index: number): readonly Json[] {
  const first = {
    index,
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: '' },
  }
  const fragments = splitEvenly(call.arguments, ARGUMENT_FRAGMENTS)
  return [first, ...fragments.map((part) => ({ index, function: { arguments: part } }))]
}
