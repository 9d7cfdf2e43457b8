// Prompts that are too long, and thoughts that nobody wants back, in the words of those who refuse them. `problem.ts`
// says where words were seen; the bodies around those of Mistral, OpenRouter and Cerebras are made up.
import { describe, expect, it } from 'bun:test'
import { problem } from './problem.ts'

const encoder = new TextEncoder()
const decode = (status: number, body: unknown) =>
  problem.decode(status, encoder.encode(JSON.stringify(body)))

const CODE = 'context_length_exceeded'

describe('a prompt that is too long', () => {
  it.each([
    [
      'DeepSeek',
      {
        error: {
          message:
            "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_request_error',
        },
      },
    ],
    [
      'vLLM',
      {
        object: 'error',
        message:
          "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    ],
    [
      'vLLM since 0.16',
      {
        error: {
          message:
            "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens.",
          type: 'BadRequestError',
          param: 'input_tokens',
          code: 400,
        },
      },
    ],
    [
      'llama.cpp',
      {
        error: {
          code: 400,
          message:
            'request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it',
          type: 'exceed_context_size_error',
          n_prompt_tokens: 4390,
          n_ctx: 4096,
        },
      },
    ],
    [
      'Mistral',
      {
        object: 'error',
        message:
          'Prompt contains 40961 tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_error',
        param: null,
        code: '3051',
      },
    ],
    [
      'Gemini',
      [
        {
          error: {
            code: 400,
            message:
              'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
    ],
    [
      'Together',
      {
        error: {
          message:
            'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 80125 `inputs` tokens and 4096 `max_new_tokens`',
          type: 'invalid_request_error',
          param: 'max_tokens',
          code: null,
        },
      },
    ],
    [
      'OpenRouter',
      {
        error: {
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.",
          code: 400,
        },
      },
    ],
    [
      'xAI',
      {
        code: 'Client specified an invalid argument',
        error:
          "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
    ],
    [
      'SGLang',
      {
        object: 'error',
        message:
          "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        type: 'BadRequestError',
        param: null,
        code: 400,
      },
    ],
    [
      'Moonshot',
      {
        error: {
          message:
            'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
          type: 'invalid_request_error',
        },
      },
    ],
    [
      'LM Studio',
      {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).',
      },
    ],
    [
      'Alibaba',
      {
        error: {
          code: 'invalid_parameter_error',
          message:
            '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
          param: null,
          type: 'invalid_request_error',
        },
      },
    ],
    [
      'Cerebras',
      {
        message:
          'Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000',
      },
    ],
  ])('%s: gets the code that clients look for, and keeps its words', (_, body) => {
    const error = decode(400, body)
    expect(error).toMatchObject({ code: CODE, wireCode: CODE, status: 400, retryable: false })
    const { error: shown } = JSON.parse(problem.encode(error, 'req_1')) as {
      error: Record<string, unknown>
    }
    expect(shown['code']).toBe(CODE)
    expect(JSON.stringify(body)).toContain(JSON.stringify(error.message).slice(1, -1))
    // The code that gave way can still be seen.
    expect(JSON.stringify(body)).toContain(JSON.stringify(shown['provider']).slice(1, 20))
  })

  it('keeps a code of its own that says something', () => {
    const message = "This model's maximum context length is 8192 tokens."
    const own = decode(400, { error: { message, code: 'prompt_overflow' } })
    expect(own).toMatchObject({ code: CODE, wireCode: 'prompt_overflow' })
    const ours = decode(400, { error: { message, code: 'rate_limit_exceeded' } })
    expect(ours).toMatchObject({ code: 'rate_limit_exceeded', wireCode: 'rate_limit_exceeded' })
  })

  it('is told by a type of its own, whatever the words', () => {
    const error = { message: 'No.', code: 400, type: 'exceed_context_size_error' }
    expect(decode(400, { error })).toMatchObject({ code: CODE, wireCode: CODE })
  })

  it('is told inside of a 200 too', () => {
    const error = { message: "This model's maximum context length is 8192 tokens.", code: 400 }
    expect(decode(200, { error })).toMatchObject({ code: CODE, wireCode: CODE, status: 400 })
  })

  it.each([
    [
      400,
      '`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model',
    ],
    [400, 'max_tokens is too large: 99999. This model supports at most 16384 completion tokens.'],
    [400, "Invalid 'user': string too long. Expected a string with maximum length 64."],
    [
      413,
      'Request too large for model `x` on tokens per minute (TPM): Limit 10000, Requested 21247, please reduce your message size and try again.',
    ],
    [429, 'Rate limit reached. Please reduce the length of the messages.'],
    [500, 'The request exceeds the available context size.'],
  ])('is not what %d with %p says', (status, message) => {
    const error = decode(status, { error: { message, code: null } })
    expect(error).toMatchObject({ code: 'provider_error', status })
  })
})

describe('what was thought before', () => {
  const refuses = (status: number, body: unknown) => problem.refusesThoughts?.(decode(status, body))

  it.each([
    [
      400,
      {
        error: {
          message:
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
        },
      },
    ],
    [
      400,
      { error: { message: 'messages[3].reasoning: reasoning is not supported with this model' } },
    ],
    [
      400,
      {
        message:
          "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
        code: 'wrong_api_format',
      },
    ],
    [
      422,
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'messages', 3, 'assistant', 'reasoning_content'],
              msg: 'Extra inputs are not permitted',
            },
          ],
        },
      },
    ],
  ])('is refused by %d with %j', (status, body) => {
    expect(refuses(status, body)).toBe(true)
  })

  it.each([
    [400, 'The `reasoning_content` in the thinking mode must be passed back to the API.'],
    [400, 'Function tools with reasoning_effort are not supported for x in /v1/chat/completions.'],
    [400, "Invalid 'messages[1].content': string too long."],
    [500, "property 'reasoning_content' is unsupported"],
  ])('is not what %d with %p is about', (status, message) => {
    expect(refuses(status, { error: { message } })).toBe(false)
  })
})
