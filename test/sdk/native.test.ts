// The official SDK at the native endpoint: only the base address is another one. It asks by streams alone, and what
// goes wrong on either side of the first event comes as it expects failures to come.
import { createOpenAI } from '@ai-sdk/openai'
import { streamText } from 'ai'
import { afterEach, describe, expect, it } from 'bun:test'
import type OpenAI from 'openai'
import { openAgency, tokenOf, type Agency } from '../fakes/agency.ts'
import { ROOT_KEY } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import type { Script } from '../fakes/supplier.ts'
import { collect, connect, rejection, SDKS, type Connection, type Sdk } from './house.ts'
import { beginTo, failHalfway, play, readAsked } from './stage.ts'

afterEach(closeStreet)

type Item = OpenAI.Responses.ResponseInputItem

const INPUT: Item[] = [{ role: 'user', content: 'Hello' }]
const ASKED = { model: 'test-model', input: INPUT, store: false }
const NOW: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'now',
  parameters: { type: 'object', properties: {} },
  strict: false,
}

/** Greets, or calls its tool first where it is given one. */
const answer: Script = play('responses', ({ tools, results }) => {
  const [result] = results
  if (result !== undefined) return `It is ${result.text}.`
  return tools.length > 0
    ? { id: 'call_1', name: 'now', input: { zone: 'UTC' } }
    : 'Grüße \u{1f600}'
})

interface House extends Agency, Connection {}

/** With one sign-in, unless somebody else makes it. */
async function open(
  Client: Sdk,
  script: Script = answer,
  options: { readonly maxRetries?: number; readonly isSignedIn?: boolean } = {},
): Promise<House> {
  const { maxRetries = 0, isSignedIn = true } = options
  const agency = tidy(await openAgency({ script }))
  if (isSignedIn) await agency.signIn()
  const baseURL = `${agency.gateway.url}/v1/native`
  return { ...agency, ...connect(Client, agency.gateway.url, { baseURL, maxRetries }) }
}

describe.each(SDKS)('%s at the native endpoint', (_, Client) => {
  it('reads events that begin, add up to and end in one answer', async () => {
    const { client, tokens } = await open(Client)
    const {
      data,
      response,
      request_id: id,
    } = await client.responses.create({ ...ASKED, stream: true }).withResponse()
    const events = await collect(data)
    expect(events[0]!.type).toBe('response.created')
    const last = events.at(-1)!
    if (last.type !== 'response.completed') throw new Error(`ends in ${last.type}`)
    const pieces = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    )
    expect(pieces.join('')).toBe('Grüße \u{1f600}')
    expect(last.response.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 })
    const numbers = events.map(({ sequence_number: number }) => number)
    expect(numbers).toEqual(events.map((__, place) => place))
    expect(id).toMatch(/^req_[0-9a-f]{32}$/)
    expect(response.headers.get('x-svc-supplier')).toBe('native')
    expect(tokens().length).toBe(1)
  })

  it('has one answer made of a stream by its helper, and a tool over two turns', async () => {
    const { client, backend, gateway } = await open(Client)
    expect((await client.responses.stream(ASKED).finalResponse()).output_text).toBe(
      'Grüße \u{1f600}',
    )
    const seen: string[] = []
    const turn = client.responses.stream({ ...ASKED, tools: [NOW] })
    turn.on('response.function_call_arguments.delta', ({ delta }) => seen.push(delta))
    const first = await turn.finalResponse()
    expect(seen.join('')).toBe('{"zone":"UTC"}')
    const [call] = first.output.filter((item) => item.type === 'function_call')
    expect(call).toMatchObject({ name: 'now', call_id: 'call_1' })
    const output: Item = { type: 'function_call_output', call_id: call!.call_id, output: 'noon' }
    const second = await client.responses
      .stream({ ...ASKED, tools: [NOW], input: [...INPUT, ...(first.output as Item[]), output] })
      .finalResponse()
    expect(second.output_text).toBe('It is noon.')
    expect(readAsked('responses', backend.requests[2]!)).toMatchObject({
      calls: ['call_1'],
      results: [{ id: 'call_1', text: 'noon' }],
    })
    expect(gateway.audit().map(({ status, output_tokens: tokens }) => [status, tokens])).toEqual([
      [200, 7],
      [200, 7],
      [200, 7],
    ])
  })

  it('notices nothing of a token that is renewed', async () => {
    const { client, issuer, backend, tries } = await open(Client)
    await client.responses.stream(ASKED).finalResponse()
    issuer.revoke(tokenOf(backend.requests[0]!))
    const { status } = await client.responses.stream(ASKED).finalResponse()
    expect([status, issuer.requests.length, tries.length]).toEqual(['completed', 1, 2])
  })

  it('is told before the stream what it must send, in its own classes', async () => {
    const { client, backend, tries } = await open(Client, answer, { maxRetries: 2 })
    const wrong: readonly (readonly [() => Promise<unknown>, object])[] = [
      [() => client.responses.create(ASKED), { param: 'stream', code: 'validation_error' }],
      [
        () => client.responses.create({ ...ASKED, input: 'Hello', stream: true }),
        { param: 'input', code: 'validation_error' },
      ],
      [
        () => client.responses.create({ ...ASKED, input: [], stream: true }),
        { param: 'input', code: 'missing_prompt' },
      ],
    ]
    for (const [asking, told] of wrong) {
      const thrown = await rejection(asking())
      expect(thrown).toBeInstanceOf(Client.BadRequestError)
      expect(thrown).toMatchObject({ status: 400, ...told })
    }
    const thrown = await rejection(
      client.responses.create({ ...ASKED, model: 'no-model', stream: true }),
    )
    expect(thrown).toBeInstanceOf(Client.NotFoundError)
    expect(backend.requests.length).toBe(0)
    expect(tries).toEqual(['0', '0', '0', '0'])
  })

  it('is refused where nobody is signed in, and does not ask again', async () => {
    const { client, tries } = await open(Client, answer, { maxRetries: 2, isSignedIn: false })
    const thrown = await rejection(client.responses.create({ ...ASKED, stream: true }))
    expect(thrown).toBeInstanceOf(Client.PermissionDeniedError)
    expect(thrown).toMatchObject({ status: 403, code: 'native_token_error' })
    expect((thrown as Error).message).toContain('gateway native login')
    expect(tries).toEqual(['0'])
  })

  it('asks again where the supplier has failed, as it does anywhere', async () => {
    const { client, tries } = await open(
      Client,
      (request, reply, index) =>
        index === 0
          ? reply.json(500, { error: { message: 'Oh no.' } })
          : answer(request, reply, index),
      { maxRetries: 2 },
    )
    const { output_text: text } = await client.responses.stream(ASKED).finalResponse()
    expect([text, tries.length]).toEqual(['Grüße \u{1f600}', 2])
  })

  it('hears of a failure in the middle as a state of the answer', async () => {
    const { client, tries, gateway } = await open(Client, failHalfway('responses'), {
      maxRetries: 2,
    })
    const seen: string[] = []
    const stream = client.responses.stream(ASKED)
    stream.on('response.output_text.delta', ({ delta }) => seen.push(delta))
    const { status, error } = await stream.finalResponse()
    expect({ status, code: error?.code as string }).toEqual({
      status: 'failed',
      code: 'stream_error',
    })
    expect(error?.message).toContain('Overloaded')
    expect([seen, tries]).toEqual([['half'], ['0']])
    expect(gateway.audit()).toMatchObject([{ status: 200, code: 'stream_error', attempts: 1 }])
  })

  it('hears of it event by event, too', async () => {
    const { client } = await open(Client, failHalfway('responses'))
    const events = await collect(await client.responses.create({ ...ASKED, stream: true }))
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'stream_error' } },
    })
  })

  it.each(['a break', 'an abort', 'an abort of the helper'])(
    'leaves by %s, and the supplier is let go at once',
    async (how) => {
      const { client, backend } = await open(
        Client,
        (__, reply) => void beginTo('responses', reply),
      )
      if (how === 'an abort of the helper') {
        const stream = client.responses.stream(ASKED)
        stream.on('response.output_text.delta', () => stream.abort())
        expect(await rejection(stream.finalResponse())).toBeInstanceOf(Client.APIUserAbortError)
      } else {
        const stream = await client.responses.create({ ...ASKED, stream: true })
        for await (const { type } of stream) {
          if (type !== 'response.output_text.delta') continue
          if (how === 'a break') break
          stream.controller.abort()
        }
      }
      await (
        await backend.request(0)
      ).closed
    },
  )
})

it('ai with openai streams from there by its default language', async () => {
  const agency = tidy(await openAgency({ script: answer }))
  await agency.signIn()
  const model = createOpenAI({ baseURL: `${agency.gateway.url}/v1/native`, apiKey: ROOT_KEY })
  const stream = streamText({ model: model('test-model'), prompt: 'Hello', maxRetries: 0 })
  expect(await stream.text).toBe('Grüße \u{1f600}')
  expect((await stream.usage).outputTokens).toBe(7)
})
