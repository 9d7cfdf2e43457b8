// The official SDK works against the gateway as it is: its calls, helpers, errors and retries, in the two
// versions in use. What it returns through the gateway is what it returns from the supplier itself.
import { afterEach, describe, expect, it } from 'bun:test'
import type OpenAI from 'openai'
import { completion } from '../fakes/supplier.ts'
import {
  closeHouses,
  collect,
  demoHouse,
  rejection,
  scriptedHouse,
  SDKS,
  type House,
} from './house.ts'

type Params = Omit<OpenAI.Chat.ChatCompletionCreateParamsNonStreaming, 'stream'>
type Message = OpenAI.Chat.ChatCompletionMessageParam

const LABEL = 'Demo supplier: no model ran.'
const EXACTLY: Message = { role: 'user', content: 'Reply with exactly: one two three' }
const CHAT: Params = { model: 'demo/chat', messages: [EXACTLY] }

function tool(name: string, property = 'city'): OpenAI.Chat.ChatCompletionFunctionTool {
  const parameters = {
    type: 'object',
    properties: { [property]: { type: 'string' } },
    required: [property],
    additionalProperties: false,
  }
  return { type: 'function', function: { name, strict: true, parameters } }
}

const PERSON: OpenAI.ResponseFormatJSONSchema = {
  type: 'json_schema',
  json_schema: {
    name: 'person',
    strict: true,
    schema: {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    },
  },
}

/** What a program reads of an error. */
interface Problem {
  readonly status: number | undefined
  readonly code: string
  readonly type: string
  readonly param: string | null
  readonly requestID: string | null
  readonly message: string
  readonly error: {
    readonly message: string
    readonly human_message: string
    readonly retryable: boolean
    readonly retry_after?: number
  }
}

afterEach(closeHouses)

describe.each(SDKS)('%s', (_, Client) => {
  const problemOf = async (work: PromiseLike<unknown>, type: new (...values: never[]) => Error) => {
    const thrown = await rejection(work)
    expect(thrown).toBeInstanceOf(type)
    return thrown as Problem
  }

  describe('asks', () => {
    it('for an answer', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create(CHAT)
      expect(answer).toMatchObject({
        object: 'chat.completion',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'one two three', refusal: null },
            finish_reason: 'stop',
          },
        ],
      })
      const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = answer.usage!
      expect(input).toBeGreaterThan(0)
      expect(output).toBeGreaterThan(0)
      expect(total).toBe(input + output)
    })

    it('with the request id beside the answer', async () => {
      const { client } = await demoHouse(Client)
      const {
        data,
        response,
        request_id: id,
      } = await client.chat.completions.create(CHAT).withResponse()
      expect(id).toMatch(/^req_[0-9a-f]{32}$/)
      expect(response.headers.get('x-request-id')).toBe(id)
      expect(Reflect.get(data, '_request_id')).toBe(id)
      expect(response.headers.get('x-svc-supplier')).toBe('demo')
    })

    it('for a stream', async () => {
      const { client } = await demoHouse(Client)
      const stream = await client.chat.completions.create({ ...CHAT, stream: true })
      const chunks = await collect(stream)
      expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(
        'one two three',
      )
      expect(chunks[0]!.choices[0]!.delta.role).toBe('assistant')
      expect(chunks.at(-1)!.choices[0]!.finish_reason).toBe('stop')
      expect(chunks.every(({ usage }) => usage === undefined || usage === null)).toBe(true)
      expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    })

    it('for a stream with usage', async () => {
      const { client } = await demoHouse(Client)
      const options = { stream: true, stream_options: { include_usage: true } } as const
      const chunks = await collect(await client.chat.completions.create({ ...CHAT, ...options }))
      const last = chunks.at(-1)!
      expect(last.choices).toEqual([])
      expect(last.usage!.total_tokens).toBe(
        last.usage!.prompt_tokens + last.usage!.completion_tokens,
      )
    })

    it('through the stream helper', async () => {
      const { client } = await demoHouse(Client)
      const deltas: string[] = []
      const stream = client.chat.completions
        .stream({ ...CHAT, stream_options: { include_usage: true } })
        .on('content', (delta) => void deltas.push(delta))
      expect(await stream.finalContent()).toBe('one two three')
      expect(deltas.join('')).toBe('one two three')
      const final = await stream.finalChatCompletion()
      expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', index: 0 })
      expect(final.usage!.total_tokens).toBeGreaterThan(0)
      expect(await stream.totalUsage()).toMatchObject({ total_tokens: final.usage!.total_tokens })
    })

    it('for an object of a schema', async () => {
      const { client } = await demoHouse(Client)
      const messages: Message[] = [{ role: 'user', content: 'Who?' }]
      const asked = { model: 'demo/chat', messages, response_format: PERSON }
      const parsed = await client.chat.completions.parse(asked)
      const person = { name: expect.any(String), age: expect.any(Number) }
      expect(parsed.choices[0]!.message.parsed).toEqual(person)
      const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
      expect(JSON.parse(streamed.choices[0]!.message.content!)).toEqual(person)
    })

    it('for JSON', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create({
        model: 'demo/chat',
        messages: [{ role: 'user', content: 'JSON, please.' }],
        response_format: { type: 'json_object' },
      })
      expect(JSON.parse(answer.choices[0]!.message.content!)).toMatchObject({ demo: true })
    })

    it('for a tool, and goes on with its result', async () => {
      const { client } = await demoHouse(Client)
      const messages: Message[] = [{ role: 'user', content: 'How is the weather?' }]
      const tools = [tool('get_weather')]
      const first = await client.chat.completions.create({
        model: 'demo/chat',
        messages,
        tools,
        tool_choice: { type: 'function', function: { name: 'get_weather' } },
      })
      const [choice] = first.choices
      expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
      const [call] = choice!.message.tool_calls!
      expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } })
      const result: Message = { role: 'tool', tool_call_id: call!.id, content: 'Sunny' }
      const second = await client.chat.completions.create({
        model: 'demo/chat',
        messages: [...messages, choice!.message, result],
        tools,
      })
      expect(second.choices[0]!.message.content).toBe(`${LABEL} The tool answered: "Sunny".`)
      expect(second.choices[0]!.finish_reason).toBe('stop')
    })

    const several: Params = {
      model: 'demo/chat',
      messages: [{ role: 'user', content: 'Use get_weather and get_time.' }],
      tools: [tool('get_weather'), tool('get_time', 'zone')],
      parallel_tool_calls: true,
    }

    it('for several tools at once', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create(several)
      const calls = answer.choices[0]!.message.tool_calls!
      expect(calls.map((call) => call.type === 'function' && call.function.name)).toEqual([
        'get_weather',
        'get_time',
      ])
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
    })

    it('for several tools in a stream', async () => {
      const { client } = await demoHouse(Client)
      const stream = client.chat.completions.stream(several)
      const final = await stream.finalChatCompletion()
      const called = final.choices[0]!.message.tool_calls!.map((call) =>
        call.type === 'function'
          ? { name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown }
          : call,
      )
      expect(called).toEqual([
        { name: 'get_weather', arguments: { city: expect.any(String) } },
        { name: 'get_time', arguments: { zone: expect.any(String) } },
      ])
      expect(final.choices[0]!.finish_reason).toBe('tool_calls')
    })

    it('through the helper that runs the tools itself', async () => {
      const { client } = await demoHouse(Client)
      const asked: unknown[] = []
      const runner = client.chat.completions.runTools({
        model: 'demo/chat',
        stream: true,
        messages: [{ role: 'user', content: 'Use get_weather.' }],
        tools: [
          {
            type: 'function',
            function: {
              name: 'get_weather',
              description: 'The weather of a city',
              parameters: { type: 'object', properties: { city: { type: 'string' } } },
              parse: JSON.parse,
              function: (value: unknown) => {
                asked.push(value)
                return 'Sunny'
              },
            },
          },
        ],
      })
      expect(await runner.finalContent()).toBe(`${LABEL} The tool answered: "Sunny".`)
      expect(asked).toHaveLength(1)
    })

    it('with an image and a sound', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create({
        model: 'demo/chat',
        messages: [
          { role: 'developer', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
              { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
              { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
            ],
          },
        ],
      })
      expect(answer.choices[0]!.message.content).toContain('with 2 images and 1 audio clip')
    })

    it('for two choices, whole and streamed', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create({ ...CHAT, n: 2 })
      expect(answer.choices.map(({ index }) => index)).toEqual([0, 1])
      const streamed = await client.chat.completions.stream({ ...CHAT, n: 2 }).finalChatCompletion()
      expect(streamed.choices.map(({ message }) => message.content)).toEqual([
        'one two three',
        'one two three',
      ])
    })

    it('for log probabilities', async () => {
      const { client } = await demoHouse(Client)
      const asked = { ...CHAT, logprobs: true, top_logprobs: 2 }
      const whole = await client.chat.completions.create(asked)
      const content = whole.choices[0]!.logprobs!.content!
      expect(content.map(({ token }) => token).join('')).toBe('one two three')
      expect(content[0]!.top_logprobs).toHaveLength(2)
      const streamed = await client.chat.completions.stream(asked).finalChatCompletion()
      expect(streamed.choices[0]!.logprobs!.content).toEqual(content)
    })

    it('for reasoning', async () => {
      const { client } = await demoHouse(Client)
      const answer = await client.chat.completions.create({ ...CHAT, reasoning_effort: 'low' })
      expect(answer.choices[0]!.message).toMatchObject({ reasoning_content: expect.any(String) })
      expect(answer.usage!.completion_tokens_details!.reasoning_tokens).toBeGreaterThan(0)
    })

    it('for the models', async () => {
      const { client } = await demoHouse(Client)
      const models = await collect(client.models.list())
      expect(models.map(({ id }) => id)).toContain('demo/chat')
      const model = await client.models.retrieve('demo/chat')
      expect(model).toMatchObject({ id: 'demo/chat', object: 'model', owned_by: 'demo' })
      expect(model.created).toBeGreaterThan(0)
    })
  })

  describe('is told', () => {
    const shape = ({ status, code, type, param }: Problem) => ({ status, code, type, param })
    const create = ({ client }: Pick<House, 'client'>, changes: object) =>
      client.chat.completions.create({ ...CHAT, ...changes })

    function expectWhole({ requestID, error, code, status, message }: Problem): void {
      expect(requestID).toMatch(/^req_[0-9a-f]{32}$/)
      expect(error.human_message).not.toBe('')
      expect(error.message).toBe(`${code} - ${error.human_message}`)
      expect(message).toBe(`${status} ${error.message}`)
    }

    it('of a wrong field', async () => {
      const problem = await problemOf(
        create(await demoHouse(Client), { temperature: 3 }),
        Client.BadRequestError,
      )
      expectWhole(problem)
      expect(shape(problem)).toEqual({
        status: 400,
        code: 'validation_error',
        type: 'invalid_request_error',
        param: 'temperature',
      })
    })

    it('what the supplier did not like, in its own words', async () => {
      const house = await demoHouse(Client)
      const refused = await problemOf(
        create(house, { model: 'demo/error-400' }),
        Client.BadRequestError,
      )
      expectWhole(refused)
      expect(shape(refused)).toEqual({
        status: 400,
        code: 'invalid_value',
        type: 'invalid_request_error',
        param: 'temperature',
      })
      const full = await problemOf(
        create(house, { model: 'demo/context-full' }),
        Client.BadRequestError,
      )
      expect(full.code).toBe('context_length_exceeded')
      expect(full.message).toContain("This model's maximum context length is 8192 tokens.")
    })

    it('of a wrong key and of none', async () => {
      const house = await demoHouse(Client)
      const wrong = house.connect({ apiKey: `svc_${'x'.repeat(40)}` })
      const unknown = await problemOf(create(wrong, {}), Client.AuthenticationError)
      expectWhole(unknown)
      expect(shape(unknown)).toEqual({
        status: 401,
        code: 'invalid_api_key',
        type: 'authentication_error',
        param: null,
      })
      const bare = house.connect({ defaultHeaders: { authorization: null } })
      const missing = await problemOf(create(bare, {}), Client.AuthenticationError)
      expect(missing.code).toBe('missing_api_key')
      await problemOf(wrong.client.models.list(), Client.AuthenticationError)
    })

    it('of a model and of a region that its key may not use', async () => {
      const house = await demoHouse(Client)
      const { key } = await house.gateway.createKey({
        name: 'narrow',
        allowed_models: ['demo/chat', 'demo/reason'],
        allowed_regions: ['EU'],
      })
      const narrow = house.connect({ apiKey: key })
      expect((await create(narrow, {})).choices).toHaveLength(1)
      const listed = await collect(narrow.client.models.list())
      expect(listed.map(({ id }) => id)).toEqual(['demo/chat', 'demo/reason'])
      const model = await problemOf(
        create(narrow, { model: 'demo/maximal' }),
        Client.PermissionDeniedError,
      )
      expectWhole(model)
      expect(shape(model)).toEqual({
        status: 403,
        code: 'model_not_allowed',
        type: 'permission_error',
        param: 'model',
      })
      const region = await problemOf(create(narrow, { region: 'US' }), Client.PermissionDeniedError)
      expect(shape(region)).toMatchObject({
        status: 403,
        type: 'permission_error',
        param: 'region',
      })
      const hidden = narrow.client.models.retrieve('demo/maximal')
      await problemOf(hidden, Client.NotFoundError)
    })

    it('of a model that nobody knows', async () => {
      const house = await demoHouse(Client)
      const problem = await problemOf(
        create(house, { model: 'nobody/nothing' }),
        Client.NotFoundError,
      )
      expectWhole(problem)
      expect(shape(problem)).toEqual({
        status: 404,
        code: 'model_not_found',
        type: 'invalid_request_error',
        param: 'model',
      })
      const unknown = await problemOf(
        house.client.models.retrieve('nobody/nothing'),
        Client.NotFoundError,
      )
      expect(unknown.code).toBe('model_not_found')
    })

    it('that every supplier is out of capacity', async () => {
      const house = await demoHouse(Client)
      const calm = house.connect({ maxRetries: 0 })
      const problem = await problemOf(
        create(calm, { model: 'demo/rate-limited' }),
        Client.RateLimitError,
      )
      expectWhole(problem)
      expect(shape(problem)).toEqual({
        status: 429,
        code: 'all_providers_exhausted',
        type: 'rate_limit_error',
        param: null,
      })
      expect(problem.error).toMatchObject({ retryable: true, retry_after: 3 })
      const pinned = create(calm, { model: 'demo-backup/demo/rate-limited' })
      expect((await problemOf(pinned, Client.RateLimitError)).status).toBe(429)
    })

    it.each([
      'error-500',
      'overloaded',
      'bad-credential',
      'garbage',
      'empty',
      'truncated',
      'error-first',
    ])('that demo/%s failed, before a stream begins as well', async (name) => {
      const calm = (await demoHouse(Client)).connect({ maxRetries: 0 })
      for (const stream of [false, true]) {
        const asked = create(calm, { model: `demo/${name}`, stream })
        const problem = await problemOf(asked, Client.InternalServerError)
        expectWhole(problem)
        expect(problem.status).toBeGreaterThanOrEqual(500)
        expect(problem.type).toBe('api_error')
      }
    })

    it.each([
      ['cut-stream', 'stream_interrupted'],
      ['end-early', 'stream_interrupted'],
      ['error-mid-stream', 'stream_error'],
    ])('that the stream of demo/%s broke', async (name, code) => {
      const house = await demoHouse(Client)
      const asked = { ...CHAT, model: `demo/${name}` }
      const seen: string[] = []
      const read = async () => {
        for await (const { choices } of await house.client.chat.completions.create({
          ...asked,
          stream: true,
        }))
          seen.push(choices[0]?.delta.content ?? '')
      }
      const problem = await problemOf(read(), Client.APIError)
      expect(seen.join('')).not.toBe('')
      expect('one two three').toStartWith(seen.join(''))
      expect(problem.code).toBe(code)
      expect(problem.requestID).toMatch(/^req_[0-9a-f]{32}$/)
      expect(problem.type).toBe('api_error')
      expect(problem.error.message).toBe(`${code} - ${problem.error.human_message}`)
      const { client: helped, tries } = house.connect()
      const helper = helped.chat.completions.stream(asked)
      const failed = await problemOf(helper.finalContent(), Client.OpenAIError)
      expect(failed.message).toContain(code)
      expect(tries).toEqual(['0'])
    })
  })

  it('repeats only what waiting may cure', async () => {
    const house = await demoHouse(Client)
    const wrong = { apiKey: `svc_${'x'.repeat(40)}` }
    const { key } = await house.gateway.createKey({ name: 'narrow', allowed_models: ['demo/chat'] })
    const cases = [
      { model: 'demo/chat', expected: ['0'] },
      { model: 'demo/error-400', expected: ['0'] },
      { model: 'demo/context-full', expected: ['0'] },
      { model: 'demo/chat', options: wrong, expected: ['0'] },
      { model: 'demo/reason', options: { apiKey: key }, expected: ['0'] },
      { model: 'nobody/nothing', expected: ['0'] },
      { model: 'demo/redirect', expected: ['0'] },
      { model: 'demo/error-500', expected: ['0', '1', '2'] },
      { model: 'demo/overloaded', expected: ['0', '1', '2'] },
    ]
    const counted = cases.map(async ({ model, options, expected }) => {
      const { client, tries } = house.connect(options)
      await client.chat.completions.create({ ...CHAT, model }).catch(() => {})
      return { model, tries, expected }
    })
    for (const { model, tries, expected } of await Promise.all(counted))
      expect({ model, tries }).toEqual({ model, tries: expected })
  })

  it('waits as long as it is told when the supplier is out of capacity', async () => {
    const house = await scriptedHouse(Client, (_, reply, index) =>
      index === 0
        ? reply.json(429, { error: { message: 'Slow down.' } }, { 'retry-after': '1' })
        : reply.json(200, completion('Hi')),
    )
    const { client, tries } = house.connect()
    const answer = await client.chat.completions.create({ ...CHAT, model: 'test-model' })
    expect(answer.choices[0]!.message.content).toBe('Hi')
    expect(tries).toEqual(['0', '1'])
  })
})
