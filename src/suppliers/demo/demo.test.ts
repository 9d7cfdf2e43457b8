// The demo supplier's answers seen from outside, through real requests. What is promised here is what
// strangers and the gateway's own tests rely on.
import { afterAll, describe, expect, test } from 'bun:test'
import { DEMO_LIMITS } from './models.ts'
import { startDemo } from './server.ts'
import {
  createClient,
  CREDENTIAL,
  TOOLS,
  user,
  type Failure,
  type ToolCall,
} from '../../../test/fakes/demo-client.ts'

const demo = startDemo({ name: 'demo', credential: CREDENTIAL })
const { send, complete, say, refuse, stream } = createClient(demo)

afterAll(() => demo.stop())

describe('who may ask, and where', () => {
  test('refuses a wrong or a missing credential', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const response = await send({ model: 'chat', ...user('hi') }, { headers })
      expect(response.status).toBe(401)
      const { error }: Failure = JSON.parse(await response.text())
      expect(error.code).toBe('invalid_api_key')
    }
  })

  test('knows no other address and no other method', async () => {
    const headers = { authorization: `Bearer ${CREDENTIAL}` }
    expect((await fetch(`${demo.origin}/v1/models`, { headers })).status).toBe(404)
    expect((await fetch(`${demo.origin}/v1/chat/completions`, { headers })).status).toBe(405)
  })

  test('counts the tokens of messages, as their answers tell them, and of nothing else', async () => {
    const headers = { 'x-api-key': CREDENTIAL }
    const ask = (path: string, fields: object): Promise<Response> =>
      fetch(demo.origin + path, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...user('How are you?'), ...fields }),
      })
    const counted = await ask('/v1/messages/count_tokens', { model: 'messages' })
    const answered = await ask('/v1/messages', { model: 'messages', max_tokens: 9 })
    const { usage }: { usage: { input_tokens: number } } = JSON.parse(await answered.text())
    expect(await counted.json()).toEqual({ input_tokens: usage.input_tokens })
    expect((await ask('/v1/messages/count_tokens', { model: 'chat' })).status).toBe(404)
    expect((await ask('/v1/messages', { model: 'messages' })).status).toBe(400)
  })

  test('counts every request', async () => {
    const before = demo.calls()
    await send({ model: 'chat', ...user('hi') })
    await send({ model: 'error-500', ...user('hi') })
    expect(demo.calls()).toBe(before + 2)
  })

  test('refuses what it cannot read', async () => {
    expect((await refuse('{"model"')).status).toBe(400)
    expect((await refuse('[]')).error.type).toBe('invalid_request_error')
    expect((await refuse(user('hi'))).error.message).toBe("Missing required parameter: 'model'.")
    const missing = await refuse({ model: 'chat' })
    expect(missing.status).toBe(400)
    expect(missing.error).toMatchObject({
      message: "Missing required parameter: 'messages'.",
      type: 'invalid_request_error',
      code: 'missing_required_parameter',
      param: 'messages',
    })
    for (const messages of [[], 'hi', [1], [{ content: 'hi' }]]) {
      expect((await refuse({ model: 'chat', messages })).status).toBe(400)
    }
    for (const wrong of [{ n: 0 }, { max_tokens: 1.5 }, { tool_choice: 'required' }]) {
      expect((await refuse({ model: 'chat', ...user('hi'), ...wrong })).status).toBe(400)
    }
  })

  test('refuses an unknown model', async () => {
    const { status, error } = await refuse({ model: 'gpt', ...user('hi') })
    expect(status).toBe(404)
    expect(error).toMatchObject({ code: 'model_not_found', type: 'invalid_request_error' })
    expect(error.message).toContain('`gpt`')
  })
})

describe('what it says', () => {
  test('labels itself and echoes the last user text', async () => {
    const answer = await complete({
      messages: [
        { role: 'system', content: 'be kind' },
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'so' },
        { role: 'user', content: 'second' },
      ],
    })
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'chat',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Demo supplier: no model ran. You said: "second".',
            refusal: null,
          },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
    })
  })

  test('answers the same request with the same bytes', async () => {
    const body = { model: 'chat', ...user('use get_time'), tools: TOOLS }
    const [first, second] = [await send(body), await send(body)]
    expect(await first.text()).toBe(await second.text())
  })

  test('replies with exactly what it is told', async () => {
    expect(await say(user('Please. Reply with exactly: PONG'))).toBe('PONG')
    const parts = [{ type: 'text', text: 'Reply with exactly: grüße\n  🙂 ' }]
    expect(await say(user(parts))).toBe('grüße\n  🙂 ')
  })

  test('mentions images, audio and files', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }
    const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }
    const file = { type: 'file', file: { file_id: 'f' } }
    const text = { type: 'text', text: 'look' }
    expect(await say(user([text, image]))).toEndWith('You said: "look", with 1 image.')
    expect(await say(user([text, image, image, audio, file]))).toEndWith(
      ', with 2 images and 1 audio clip and 1 file.',
    )
    const { usage } = await complete(user([text, image, image]))
    expect(usage?.prompt_tokens).toBe(1 + 4 + 2 * 85)
  })

  test('counts four bytes of text as a token', async () => {
    const answer = await complete({
      messages: [
        { role: 'developer', content: 'äöü' },
        { role: 'user', content: 'Reply with exactly: äöüß!' },
      ],
    })
    // 6 + 29 bytes of input in two messages, 9 bytes of output.
    expect(answer.usage).toMatchObject({
      prompt_tokens: 9 + 8,
      completion_tokens: 3,
      total_tokens: 20,
      prompt_tokens_details: { cached_tokens: 0 },
    })
  })

  test('gives as many choices as asked for', async () => {
    const answer = await complete({ ...user('Reply with exactly: abcd'), n: 3 })
    expect(answer.choices.map((choice) => choice.index)).toEqual([0, 1, 2])
    expect(answer.choices.map((choice) => choice.message.content)).toEqual(Array(3).fill('abcd'))
    expect(answer.usage?.completion_tokens).toBe(3)
  })

  test('stops before a stop sequence', async () => {
    const asked = user('Reply with exactly: one two three four')
    for (const stop of ['three', ['four', 'three']]) {
      const [choice] = (await complete({ ...asked, stop })).choices
      expect(choice?.message.content).toBe('one two ')
      expect(choice?.finish_reason).toBe('stop')
    }
  })

  test('keeps to its maximum and cuts between characters', async () => {
    const asked = user('Reply with exactly: ab🙂🙂🙂')
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      const answer = await complete({ ...asked, [name]: 2 })
      expect(answer.choices[0]?.message.content).toBe('ab🙂')
      expect(answer.choices[0]?.finish_reason).toBe('length')
      expect(answer.usage?.completion_tokens).toBe(2)
    }
    const enough = await complete({ ...asked, max_tokens: 4, max_completion_tokens: null })
    expect(enough.choices[0]?.finish_reason).toBe('stop')
  })

  test('shows log probabilities that add up to the text', async () => {
    const body = { ...user('one two three'), logprobs: true, top_logprobs: 2 }
    const [choice] = (await complete(body)).choices
    const tokens = choice?.logprobs?.content ?? []
    expect(tokens.map((token) => token.token).join('')).toBe(choice?.message.content ?? '-')
    for (const { token, logprob, bytes, top_logprobs: top } of tokens) {
      expect(logprob).toBeLessThan(0)
      expect(Buffer.from(bytes).toString()).toBe(token)
      expect(top).toHaveLength(2)
      expect(top[0]?.token).toBe(token)
    }
    const streamed = (await stream(body)).flatMap((chunk) => chunk.choices)
    expect(streamed.flatMap((piece) => piece.logprobs?.content ?? [])).toEqual([...tokens])
  })

  test('reasons when asked to, and the reasoning counts', async () => {
    const bodies = [{ reasoning_effort: 'low' }, { model: 'reason' }]
    for (const body of bodies) {
      const answer = await complete({ ...user('Reply with exactly: abcd'), ...body })
      expect(answer.choices[0]?.message.reasoning_content).toStartWith('Demo reasoning')
      expect(answer.choices[0]?.message.content).toBe('abcd')
      const reasoned = answer.usage?.completion_tokens_details.reasoning_tokens ?? 0
      expect(reasoned).toBeGreaterThan(0)
      expect(answer.usage?.completion_tokens).toBe(reasoned + 1)
    }
    const plain = await complete(user('hi'))
    expect(plain.choices[0]?.message).not.toHaveProperty('reasoning_content')
  })

  test('may spend its whole maximum on reasoning', async () => {
    const answer = await complete({ model: 'reason', ...user('hi'), max_tokens: 2 })
    expect(answer.choices[0]?.message.content).toBe('')
    expect(answer.choices[0]?.finish_reason).toBe('length')
    expect(answer.usage?.completion_tokens).toBe(2)
  })

  test('the maximal model uses its whole maximum', async () => {
    for (const [body, tokens] of [
      [{ max_tokens: 10, stop: 'D' }, 10],
      [{ max_tokens: 3 }, 3],
      [{}, 4096],
    ] as const) {
      const answer = await complete({ model: 'maximal', ...user('hi'), ...body })
      expect(answer.choices[0]?.message.content).toHaveLength(tokens * 4)
      expect(answer.choices[0]?.finish_reason).toBe('length')
      expect(answer.usage?.completion_tokens).toBe(tokens)
    }
    const tooMuch = { model: 'maximal', ...user('hi'), max_tokens: 1_000_000_000 }
    expect((await refuse(tooMuch)).status).toBe(400)
  })

  test('keeps to the limits that it is described with', async () => {
    const { contextWindow, outputCeiling } = DEMO_LIMITS
    const text = 'word'.repeat(outputCeiling + 1)
    const answer = await complete(user(`Reply with exactly: ${text}`))
    expect(answer.choices[0]?.finish_reason).toBe('length')
    expect(answer.usage?.completion_tokens).toBe(outputCeiling)
    const most = contextWindow - outputCeiling - 4
    const whole = await complete(user('word'.repeat(most)))
    expect(whole.usage?.prompt_tokens).toBe(most + 4)
    const longer = await refuse({ model: 'chat', ...user('word'.repeat(most + 1)) })
    expect(longer).toMatchObject({ status: 400, error: { code: 'context_length_exceeded' } })
  })
})

function argumentsOf(call: ToolCall | undefined): unknown {
  return JSON.parse(call?.function.arguments ?? '')
}

function weatherCall(id: string): object {
  return { id, type: 'function', function: { name: 'get_weather', arguments: '{}' } }
}

describe('tools', () => {
  test('calls the tool that is named, with arguments its schema allows', async () => {
    const choice = { type: 'function', function: { name: 'get_weather' } }
    const answer = await complete({ ...user('hi'), tools: TOOLS, tool_choice: choice })
    const { message, finish_reason: finish } = answer.choices[0] ?? {}
    expect(finish).toBe('tool_calls')
    expect(message?.content).toBeNull()
    expect(message?.tool_calls).toHaveLength(1)
    expect(message?.tool_calls?.[0]).toMatchObject({ type: 'function' })
    expect(message?.tool_calls?.[0]?.id).toStartWith('call_')
    expect(argumentsOf(message?.tool_calls?.[0])).toEqual({ city: 'demo', days: 3 })
  })

  test('calls some tool when one is required', async () => {
    const body = { tools: TOOLS, tool_choice: 'required' }
    const names = async (text: string): Promise<unknown> =>
      (await complete({ ...user(text), ...body })).choices[0]?.message.tool_calls?.map(
        (call) => call.function.name,
      )
    expect(await names('hi')).toEqual(['get_weather'])
    expect(await names('get_time, and Reply with exactly: x')).toEqual(['get_time'])
  })

  test('by itself calls every tool that the user names, in parallel', async () => {
    const asked = user('Use get_weather and get_time.')
    const calls = (await complete({ ...asked, tools: TOOLS })).choices[0]?.message.tool_calls ?? []
    expect(calls.map((call) => call.function.name)).toEqual(['get_weather', 'get_time'])
    expect(new Set(calls.map((call) => call.id)).size).toBe(2)
    expect(argumentsOf(calls[1])).toEqual({ zone: 'UTC' })
    const single = await complete({ ...asked, tools: TOOLS, parallel_tool_calls: false })
    expect(single.choices[0]?.message.tool_calls).toHaveLength(1)
  })

  test('calls none when none is named or none is wanted', async () => {
    for (const body of [
      { ...user('How about get_weather_now?'), tools: TOOLS },
      { ...user('get_weather'), tools: TOOLS, tool_choice: 'none' },
      user('get_weather'),
    ]) {
      const [choice] = (await complete(body)).choices
      expect(choice?.message).not.toHaveProperty('tool_calls')
      expect(choice?.finish_reason).toBe('stop')
    }
  })

  test('refuses to call a tool that is not there', async () => {
    const choice = { type: 'function', function: { name: 'other' } }
    const body = { model: 'chat', ...user('hi'), tools: TOOLS, tool_choice: choice }
    expect((await refuse(body)).status).toBe(400)
  })

  test('quotes what the tools answered', async () => {
    const messages = [
      { role: 'user', content: 'Use get_weather.' },
      { role: 'assistant', content: null, tool_calls: [weatherCall('a'), weatherCall('b')] },
      { role: 'tool', tool_call_id: 'a', content: '21 degrees' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'rain' }] },
    ]
    expect(await say({ messages, tools: TOOLS })).toBe(
      'Demo supplier: no model ran. The tool answered: "21 degrees" and "rain".',
    )
  })

  test('cuts the arguments at its maximum', async () => {
    const body = { ...user('get_weather'), tools: TOOLS, max_tokens: 5 }
    const answer = await complete(body)
    expect(answer.choices[0]?.finish_reason).toBe('length')
    expect(answer.choices[0]?.message.tool_calls?.[0]?.function.arguments).toBe('{"city":')
    expect(answer.usage?.completion_tokens).toBe(5)
  })
})

async function ask(schema: object): Promise<unknown> {
  const format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } }
  return JSON.parse((await say({ ...user('hi'), response_format: format })) ?? '')
}

describe('structured output', () => {
  test('answers with an object when asked for JSON', async () => {
    const text = await say({ ...user('hi'), response_format: { type: 'json_object' } })
    expect(JSON.parse(text ?? '')).toMatchObject({ demo: true })
  })

  test('satisfies a schema with references', async () => {
    const answer = await ask({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        people: { type: 'array', minItems: 2, items: { $ref: '#/$defs/person' } },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
      required: ['people', 'note'],
      additionalProperties: false,
      $defs: {
        person: {
          type: 'object',
          properties: {
            mail: { type: 'string', format: 'email' },
            age: { type: 'integer', minimum: 18 },
            mood: { enum: ['calm', 'busy'] },
          },
          required: ['mail', 'age', 'mood'],
        },
      },
    })
    const person = { mail: 'demo@example.com', age: 18, mood: 'calm' }
    expect(answer).toEqual({ people: [person, person], note: 'demo' })
  })

  test('asks for the schema when it is missing', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'x' } }
    const refused = await refuse({ model: 'chat', ...user('hi'), response_format: format })
    expect(refused.status).toBe(400)
  })
})
