// The official SDK and the AI SDK in their default language, in front of suppliers of every language: what their
// helpers make of a stream, how calls, thoughts and failures come through, and what nobody but their maker can keep.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, stepCountIs, streamText, tool, type ModelMessage } from 'ai'
import { afterEach, describe, expect, it } from 'bun:test'
import type OpenAI from 'openai'
import { ROOT_KEY, startGateway } from '../fakes/gateway.ts'
import { begin, end, event, message, reason, say, START, STOP } from '../fakes/messages.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { chunk, DONE, USAGE_CHUNK, type Script } from '../fakes/supplier.ts'
import { collect, connect, rejection, SDKS } from './house.ts'
import {
  beginTo,
  failHalfway,
  openStage,
  play,
  readAsked,
  STYLES,
  type Stage,
  type Style,
} from './stage.ts'

afterEach(closeStreet)

const ASKED = { model: 'test-model', input: 'Hello' }
const OTHERS: readonly Style[] = ['chat', 'messages']

const NOW: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'now',
  parameters: { type: 'object', properties: {} },
  strict: false,
}

function sendAll(...frames: readonly string[]): Script {
  return (_, reply) => {
    const stream = reply.stream()
    for (const frame of frames) stream.send(frame)
    stream.end()
  }
}

function piece(index: number, fields: object): string {
  return chunk({ tool_calls: [{ index, ...fields }] })
}

/** Two calls of one tool, whose inputs come mixed. */
const MIXED: Script = sendAll(
  chunk({ role: 'assistant', content: null }),
  piece(0, { id: 'a', type: 'function', function: { name: 'now', arguments: '{"zo' } }),
  piece(1, { id: 'b', type: 'function', function: { name: 'now', arguments: '' } }),
  piece(0, { function: { arguments: 'ne":"UTC"}' } }),
  piece(1, { function: { arguments: '{"zone":"CET"}' } }),
  chunk({}, 'tool_calls'),
  USAGE_CHUNK,
  DONE,
)

describe.each(SDKS)('%s by responses', (_, Sdk) => {
  const open = async (style: Style, script: Script) => {
    const stage = await openStage(style, script)
    return { ...stage, ...connect(Sdk, stage.gateway.url, { maxRetries: 0 }) }
  }

  describe.each(STYLES)('in front of a supplier of %s', (style) => {
    it('reads events that begin, add up to and end in one answer', async () => {
      const { client } = await open(
        style,
        play(style, () => 'Grüße \u{1f600}'),
      )
      const events = await collect(await client.responses.create({ ...ASKED, stream: true }))
      expect(events[0]!.type).toBe('response.created')
      const last = events.at(-1)!
      if (last.type !== 'response.completed') throw new Error(`ends in ${last.type}`)
      const pieces = events.flatMap((event) =>
        event.type === 'response.output_text.delta' ? [event.delta] : [],
      )
      expect(pieces.length).toBeGreaterThan(1)
      expect(pieces.join('')).toBe('Grüße \u{1f600}')
      expect(last.response.output).toMatchObject([
        { type: 'message', role: 'assistant', content: [{ text: 'Grüße \u{1f600}' }] },
      ])
      const numbers = events.map(({ sequence_number: number }) => number)
      expect(numbers).toEqual(events.map((__, place) => place))
    })

    it('makes the same of a stream as of a whole answer', async () => {
      const { client } = await open(
        style,
        play(style, () => 'All of it'),
      )
      const whole = await client.responses.create(ASKED)
      const streamed = await client.responses.stream(ASKED).finalResponse()
      expect(streamed.output_text).toBe('All of it')
      expect(streamed.output_text).toBe(whole.output_text)
      expect(streamed.usage).toEqual(whole.usage)
      expect(streamed.status).toBe(whole.status)
      expect(streamed.object).toBe(whole.object)
    })

    it('parses what it has asked for by a schema from a stream', async () => {
      const city = { city: 'Köln', people: 1 }
      const { client, asked } = await open(
        style,
        play(style, () => JSON.stringify(city)),
      )
      const schema = {
        type: 'object',
        properties: { city: { type: 'string' }, people: { type: 'number' } },
        required: ['city', 'people'],
        additionalProperties: false,
      }
      const format = { type: 'json_schema' as const, name: 'city', strict: true, schema }
      const stream = client.responses.stream({ ...ASKED, text: { format } })
      expect(JSON.parse((await stream.finalResponse()).output_text)).toEqual(city)
      expect(asked()[0]!.schema).toEqual(schema)
    })

    it('hears of a failure in the middle as a state of the answer', async () => {
      const { client, tries } = await open(style, failHalfway(style))
      const seen: string[] = []
      const stream = client.responses.stream(ASKED)
      stream.on('response.output_text.delta', ({ delta }) => seen.push(delta))
      const { status, error, id } = await stream.finalResponse()
      expect({ status, code: error?.code as string }).toEqual({
        status: 'failed',
        code: 'stream_error',
      })
      expect(error?.message).toContain('Overloaded')
      expect(id).toMatch(/^resp_/)
      expect(seen).toEqual(['half'])
      expect(tries).toEqual(['0'])
    })

    it.each(['a break', 'an abort', 'an abort of the helper'])(
      'leaves by %s, and the supplier is let go at once',
      async (how) => {
        const { client, supplier } = await open(style, (__, reply) => void beginTo(style, reply))
        if (how === 'an abort of the helper') {
          const stream = client.responses.stream(ASKED)
          stream.on('response.output_text.delta', () => stream.abort())
          expect(await rejection(stream.finalResponse())).toBeInstanceOf(Sdk.APIUserAbortError)
        } else {
          const stream = await client.responses.create({ ...ASKED, stream: true })
          for await (const { type } of stream) {
            if (type !== 'response.output_text.delta') continue
            if (how === 'a break') break
            stream.controller.abort()
          }
        }
        await (
          await supplier.request(0)
        ).closed
      },
    )
  })

  it('reads calls whose pieces come mixed, each as its own item', async () => {
    const { client } = await open('chat', MIXED)
    const events: string[] = []
    const stream = client.responses.stream({ ...ASKED, tools: [NOW] })
    stream.on('response.function_call_arguments.delta', ({ item_id: id, delta }) =>
      events.push(`${id} ${delta}`),
    )
    const { output } = await stream.finalResponse()
    expect(output).toMatchObject([
      { type: 'function_call', call_id: 'a', name: 'now', arguments: '{"zone":"UTC"}' },
      { type: 'function_call', call_id: 'b', name: 'now', arguments: '{"zone":"CET"}' },
    ])
    expect(new Set(events.map((each) => each.split(' ')[0])).size).toBe(2)
  })

  it.each(OTHERS)('hands several results back at once, beside what it says (%s)', async (style) => {
    const { client, asked } = await open(
      style,
      play(style, () => 'Both.'),
    )
    const { output_text: text } = await client.responses.create({
      model: 'test-model',
      tools: [NOW],
      input: [
        { role: 'user', content: 'Times?' },
        { type: 'function_call', call_id: 'a', name: 'now', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'now', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'Noon' },
        {
          type: 'function_call_output',
          call_id: 'b',
          output: [{ type: 'input_text', text: 'One' }],
        },
        { role: 'user', content: 'Which is later?' },
      ],
    })
    expect(text).toBe('Both.')
    expect(asked()[0]).toMatchObject({
      calls: ['a', 'b'],
      results: [
        { id: 'a', text: 'Noon' },
        { id: 'b', text: 'One' },
      ],
    })
  })

  it.each(OTHERS)('is told what to send in place of what nobody has kept (%s)', async (style) => {
    const { client, supplier } = await open(
      style,
      play(style, () => 'Hi'),
    )
    const first = await client.responses.create(ASKED)
    const asking = client.responses.create({ ...ASKED, previous_response_id: first.id })
    const thrown = await rejection(asking)
    expect(thrown).toBeInstanceOf(Sdk.BadRequestError)
    expect(thrown).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      type: 'invalid_request_error',
      param: 'previous_response_id',
      requestID: expect.stringMatching(/^req_/),
    })
    expect((thrown as Error).message).toContain('`input`')
    expect(supplier.requests).toHaveLength(1)
  })

  it('is refused what would go on behind its back, whoever answers', async () => {
    for (const style of STYLES) {
      const { client, supplier } = await open(
        style,
        play(style, () => 'Hi'),
      )
      const thrown = await rejection(client.responses.create({ ...ASKED, background: true }))
      expect(thrown).toBeInstanceOf(Sdk.BadRequestError)
      expect(thrown).toMatchObject({ param: 'background' })
      expect(supplier.requests).toHaveLength(0)
    }
  })
})

describe('ai with openai', () => {
  const model = ({ gateway }: Stage) =>
    createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: ROOT_KEY })('test-model')

  it.each(OTHERS)(
    'goes on with what was said where it is told that nobody keeps it (%s)',
    async (style) => {
      const stage = await openStage(
        style,
        play(style, () => 'Hello'),
      )
      const messages: ModelMessage[] = [{ role: 'user', content: 'Hi' }]
      const options = { openai: { store: false } }
      const common = { model: model(stage), maxRetries: 0 }
      const first = await generateText({ ...common, messages, providerOptions: options })
      const history = [...messages, ...first.response.messages, ...messages]
      const second = await generateText({ ...common, messages: history, providerOptions: options })
      expect(second.text).toBe('Hello')
      // By default it names what was said by its id, for its maker to look up.
      const thrown = (await rejection(generateText({ ...common, messages: history }))) as Error
      expect(thrown).toMatchObject({ statusCode: 400 })
      expect(thrown.message).toContain('`input`')
      expect(thrown.message).toContain('`store`')
    },
  )

  it('hands thoughts back to the model that has thought them, between two calls', async () => {
    const thinking = { type: 'thinking', thinking: 'Let me see', signature: 'c2ln' }
    const use = { type: 'tool_use', id: 'call_1', name: 'now', input: {} }
    const script: Script = (request, reply) => {
      const isDone = readAsked('messages', request).results.length > 0
      if (isDone) return reply.json(200, message('Noon.'))
      const content = [thinking, { type: 'text', text: 'I look.' }, use]
      return reply.json(200, message('', { content, stop_reason: 'tool_use' }))
    }
    const stage = await openStage('messages', script)
    const { text, steps } = await generateText({
      model: model(stage),
      maxRetries: 0,
      prompt: 'Time?',
      stopWhen: stepCountIs(3),
      providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
      tools: {
        now: tool({
          inputSchema: jsonSchema<object>({ type: 'object' }),
          execute: () => 'Noon',
        }),
      },
    })
    expect(text).toBe('Noon.')
    expect(steps[0]!.reasoningText).toBe('Let me see')
    const { body } = await stage.supplier.request(1)
    const { messages } = JSON.parse(body.toString()) as { messages: { content: object[] }[] }
    expect(messages[1]!.content).toMatchObject([thinking, { text: 'I look.' }, { id: 'call_1' }])
  })

  it('streams thoughts as what they are', async () => {
    const thought = event('content_block_delta', {
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'Let me see' },
    })
    const sealed = event('content_block_delta', {
      index: 0,
      delta: { type: 'signature_delta', signature: 'c2ln' },
    })
    const block = { type: 'thinking', thinking: '', signature: '' }
    const stage = await openStage(
      'messages',
      sendAll(
        START,
        begin(0, block) + thought + sealed + end(0),
        begin(1) + say('Yes', 1) + end(1),
        reason() + STOP,
      ),
    )
    const stream = streamText({ model: model(stage), prompt: 'Hi', maxRetries: 0 })
    expect(await stream.text).toBe('Yes')
    expect(await stream.reasoningText).toBe('Let me see')
  })
})

describe('the demo', () => {
  it.each(SDKS)('answers responses by %s, calls included', async (_, Sdk) => {
    const { url } = tidy(await startGateway())
    const { client } = connect(Sdk, url)
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Use now.' }]
    const first = await client.responses.create({ model: 'demo/responses', input, tools: [NOW] })
    const [call] = first.output.filter((item) => item.type === 'function_call')
    expect(call).toMatchObject({ name: 'now' })
    const second = await client.responses
      .stream({
        model: 'demo/responses',
        tools: [NOW],
        input: [
          ...input,
          ...(first.output as OpenAI.Responses.ResponseInputItem[]),
          { type: 'function_call_output', call_id: call!.call_id, output: 'Noon' },
        ],
      })
      .finalResponse()
    expect(second.output_text).toContain('Noon')
  })
})
