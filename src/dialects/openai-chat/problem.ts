// Problems in the chat-completions language. Clients match on a supplier's own code and wording, so
// both survive; only what a supplier left out is filled in.
import { toEnvelope } from '../../core/envelope.ts'
import {
  chatType,
  GatewayError,
  isProblemCode,
  type ProblemCode,
  type ProblemOrigin,
} from '../../core/problem.ts'
import type { ProblemCodec } from '../dialect.ts'
import { isErrorStatus, readErrorBody } from '../error-body.ts'

/** How suppliers call an account without money, whatever the status. */
const SPENT = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])

/** How suppliers say that a prompt is too long; few of them have a code for it. */
const TOO_LONG = new RegExp(
  [
    // OpenAI (seen in deer-flow #310, 2025-06), vLLM (seen in llama-verifications #58, 2025-08), DeepSeek (seen in
    // fast-agent #621, 2026-01), Fireworks (seen in fw-ai/cookbook #134, 2025-08); Mistral and OpenRouter by what other
    // clients look for. xAI says "prompt" (seen in chenyme/grok2api #693, 2026-07).
    'maximum (?:context|prompt) length',
    // vLLM since 0.16 (seen in harbor #996, 2026-03), and LM Studio (seen in its bug tracker, #546, 2025-03).
    'context length (?:is|of) only \\d',
    // llama.cpp (seen in its #19774, 2026-02); the second by what other clients look for.
    'exceeds the (?:available context size|context window)',
    // Gemini (seen in gemini-cli #13006, 2025-11).
    'input token count .{0,40}exceeds the maximum',
    // Together, and what it runs on (seen in harbor #180, 2025-11).
    'tokens \\+ .?max_new_tokens.? must be',
    // Groq (seen in amurex-backend #51, 2025-03), Cerebras (seen in cline #5140, 2025-07).
    'reduce the length of the (?:messages|input|prompt)',
    // SGLang (seen in Qwen3 #1321, 2025-04), LM Studio (seen in its bug tracker, #2205, 2026-07).
    "(?:longer|greater) than the (?:model's )?context length",
    // Moonshot (seen in kimi-cli #2011, 2026-04), MiniMax (seen in MiniMax-M2 #119, 2026-05).
    'exceeded model token limit|context window exceeds limit',
    // Alibaba (seen in QwenPaw #6255, 2026-07), xAI, there by another protocol (seen in inspect_ai #5208, 2026-09).
    'range of input length should be|\\[input_too_large\\]',
    // Who passes on what makers of other languages say.
    'prompt is too long|input is too long for requested model',
  ].join('|'),
  'i',
)
/** llama.cpp's (its #15780, 2025-09). */
const TOO_LONG_TYPE = 'exceed_context_size_error'
const INVALID_STATUSES = new Set([400, 422])

/**
 * How suppliers refuse what was thought before: Groq ("property 'reasoning_content' is unsupported", janhq/jan #8136,
 * 2026-05; "messages[1].reasoning: reasoning is not supported with this model", vercel/ai #8057, 2025-08), Cerebras
 * (kilocode #10375, 2026-05), Mistral ("Extra inputs are not permitted" at `reasoning_content`, crush #1590, 2025-12).
 * Who demands it says "must be passed back".
 */
const THOUGHTS = /\breasoning_(?:content|details)\b|\bmessages?\b.{1,40}\breasoning\b/
const REFUSED =
  /unsupported|not supported|not permitted|not allowed|forbidden|unexpected|unknown|unrecognized|cannot find field/i

/** Codes that say no more than the status does: nobody can match on them. xAI has a sentence for one. */
const VAGUE =
  /^(?:\d+|bad_?request(?:_?error)?|invalid_?(?:request|argument|parameter)s?(?:_?error)?|provider_error|client specified an invalid argument)$/i

export const problem: ProblemCodec = {
  encode: (error) => JSON.stringify({ error: toEnvelope(error, chatType) }),

  frame: (error) => `data: ${JSON.stringify({ error: toEnvelope(error, chatType) })}\n\n`,

  decode(status, body) {
    const { origin, text } = readErrorBody(body)
    const ownStatus = isErrorStatus(status) ? status : inBandStatus(origin.code)
    const isLong = isTooLong(ownStatus, origin, text)
    const kept = isLong ? withoutVagueCode(origin) : origin
    const fallback = isLong ? 'context_length_exceeded' : 'provider_error'
    return new GatewayError(asProblemCode(kept.code, fallback), text, {
      origin: kept,
      retryable: false,
      status: ownStatus,
    })
  },

  isSpent: ({ origin }) => SPENT.has(origin?.code ?? '') || SPENT.has(origin?.type ?? ''),

  refusesThoughts: ({ status, message }) =>
    INVALID_STATUSES.has(status) && THOUGHTS.test(message) && REFUSED.test(message),
}

function asProblemCode(code: string | undefined, fallback: ProblemCode): ProblemCode {
  return code !== undefined && isProblemCode(code) ? code : fallback
}

function isTooLong(status: number, { type }: ProblemOrigin, text: string): boolean {
  return INVALID_STATUSES.has(status) && (type === TOO_LONG_TYPE || TOO_LONG.test(text))
}

/** It gives way to the code by which clients find out that a conversation is to be shortened. */
function withoutVagueCode(origin: ProblemOrigin): ProblemOrigin {
  const { code, ...others } = origin
  return code !== undefined && VAGUE.test(code) ? others : origin
}

/** An error inside a 200 has no status of its own, unless its code is one. */
function inBandStatus(code: string | undefined): number {
  const status = Number(code)
  return isErrorStatus(status) ? status : 502
}
