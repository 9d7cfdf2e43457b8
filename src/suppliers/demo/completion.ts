// The unary answer and the parts that a stream shares with it: head, usage, log probabilities. The
// figures are counted from what is sent, never made up apart from it.
import type { Call, Choice } from './answer.ts'
import type { Json } from './json.ts'
import type { DemoRequest } from './request.ts'
import { countPrompt, splitWords } from './text.ts'

const CREATED = 1_767_225_600

export function headOf(request: DemoRequest, object: string): Json {
  return {
    id: `chatcmpl-demo-${request.fingerprint}`,
    object,
    created: CREATED,
    model: request.model,
    system_fingerprint: 'fp_demo',
  }
}

/** `finish` replaces every choice's own reason: null is what an answer without an end shows. */
export function completionOf(
  request: DemoRequest,
  choices: readonly Choice[],
  finish?: null,
): Json {
  return {
    ...headOf(request, 'chat.completion'),
    choices: choices.map((choice) => ({
      index: choice.index,
      message: messageOf(choice),
      logprobs: logprobsOf(request, splitWords(choice.content ?? '')),
      finish_reason: finish === null ? null : choice.finish,
    })),
  }
}

function messageOf(choice: Choice): Json {
  return {
    role: 'assistant',
    content: choice.content,
    refusal: null,
    ...(choice.reasoning === '' ? {} : { reasoning_content: choice.reasoning }),
    ...(choice.calls.length === 0 ? {} : { tool_calls: choice.calls.map(callOf) }),
  }
}

function callOf(call: Call): Json {
  return {
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }
}

export function usageOf(request: DemoRequest, choices: readonly Choice[]): Json {
  const prompt = countPrompt(request)
  const completion = choices.reduce((sum, choice) => sum + choice.tokens, 0)
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: choices.reduce((sum, choice) => sum + choice.reasoningTokens, 0),
    },
  }
}

/** A piece counts as one token here: real tokenizers differ, and the pieces add up to the text. */
export function logprobsOf(request: DemoRequest, pieces: readonly string[]): Json | null {
  const top = request.topLogprobs
  if (top === undefined) return null
  const content = pieces.map((piece) => {
    const others = Array.from({ length: top }, (_, rank) =>
      likelihood(rank === 0 ? piece : `${piece}${rank}`, rank),
    )
    return { ...likelihood(piece, 0), top_logprobs: others }
  })
  return { content, refusal: null }
}

function likelihood(token: string, rank: number): Json {
  return { token, logprob: -0.125 - rank, bytes: [...Buffer.from(token)] }
}
