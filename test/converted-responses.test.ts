// Responses from suppliers of chats and of messages, and chats and messages from suppliers of responses, through the
// whole gateway: what arrives, what comes back, what it costs, what is lost and what happens when something breaks.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  ask,
  BROKEN,
  closeHouses,
  frames,
  GOOD,
  house,
  piecesOf,
  REFUSING,
  sentTo,
  streamed,
  textOf,
  unwell,
  type Language,
} from './fakes/languages.ts'
import { checkMessageStream } from './fakes/message-grammar.ts'
import { begin, end, MESSAGES_COST, reason, say, START, STOP } from './fakes/messages.ts'
import { checkResponseStream } from './fakes/response-grammar.ts'
import {
  beginText,
  callEvents,
  callItem,
  completed,
  endText,
  failedEvent,
  HELLO_RESPONSES,
  messageItem,
  PREAMBLE,
  printEvents,
  response,
  thoughtItem,
} from './fakes/response-supplier.ts'
import { chunk, DONE, type Script } from './fakes/supplier.ts'

afterEach(closeHouses)

const WAYS: readonly (readonly [Language, Language])[] = [
  ['responses', 'chat'],
  ['responses', 'messages'],
  ['chat', 'responses'],
  ['messages', 'responses'],
]

/** What each cannot have said for it, and the places of that. */
const LOSSY: Readonly<Record<Language, readonly [object, readonly string[]]>> = {
  chat: [{ seed: 7, stop: ['END'] }, ['/seed', '/stop']],
  messages: [{ top_k: 5, stop_sequences: ['END'] }, ['/stop_sequences', '/top_k']],
  responses: [{ max_tool_calls: 2, truncation: 'auto' }, ['/max_tool_calls', '/truncation']],
}

const LIMITS = { chat: 'max_tokens', messages: 'max_tokens', responses: 'max_output_tokens' }

/** Throws where a client of the language could not read it to its end. */
function checkWhole(language: Language, text: string): void {
  if (language === 'messages') checkMessageStream(text)
  if (language === 'responses') checkResponseStream(text)
  if (language === 'chat' && !text.endsWith(DONE)) throw new Error('the marker is missing')
}

interface Failure {
  readonly code: string
  readonly message: string
}

/** What the last event of a stream says that has failed, as the language has it. */
function failureIn(language: Language, text: string): Failure {
  const last = frames(text).at(-1)!
  if (language !== 'responses') return (last as { readonly error: Failure }).error
  expect(last).toMatchObject({ type: 'response.failed', response: { status: 'failed' } })
  expect(text).toContain('event: response.failed\n')
  return (last as { readonly response: { readonly error: Failure } }).response.error
}

/** What tells a client that it has got all of an answer. */
const ENDINGS =
  /message_stop|\[DONE\]|response\.completed|response\.incomplete|"finish_reason":"|"stop_reason":"/

describe.each(WAYS)('%s from a supplier of %s', (caller, supplier) => {
  it('is answered in the language of the caller, at the same price as a relay', async () => {
    const { gateway } = await house([[supplier, GOOD[supplier]]])
    const response = await ask(gateway, caller)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': `${supplier}-1`,
      'x-svc-failover': 'false',
      'x-svc-input-tokens': '11',
      'x-svc-output-tokens': '7',
      'x-svc-cost-usd': MESSAGES_COST,
      'x-svc-settlement': 'settled',
    })
    expect(response.headers.has('x-svc-losses')).toBe(false)
    expect(await textOf(response)).toBe('Hi')
    expect(gateway.audit()).toMatchObject([{ status: 200, input_tokens: 11, output_tokens: 7 }])
  })

  it('is streamed in the language of the caller, with usage in the books', async () => {
    const { gateway } = await house([[supplier, GOOD[supplier]]])
    const response = await ask(gateway, caller, { stream: true })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const text = await response.text()
    expect(text).toContain(`: x-svc-cost-usd: ${MESSAGES_COST}\n`)
    checkWhole(caller, text)
    expect(piecesOf(text)).toEqual(['H', 'i'])
    expect(gateway.audit()).toMatchObject([{ status: 200, input_tokens: 11, output_tokens: 7 }])
  })

  it('passes every piece on as it comes', async () => {
    const pieces = Promise.withResolvers<void>()
    const script: Script = async (_, reply) => {
      const stream = reply.stream()
      stream.send(BROKEN[supplier].begun)
      await pieces.promise
      stream.send(BROKEN[supplier].rest)
      stream.end()
    }
    const { gateway } = await house([[supplier, script]])
    const response = await ask(gateway, caller, { stream: true })
    const reader = response.body!.getReader()
    const first = Buffer.from((await reader.read()).value ?? []).toString()
    expect(piecesOf(first)).toEqual(['H'])
    pieces.resolve()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += Buffer.from(part.value).toString()
    expect(piecesOf(rest)).toEqual(['i'])
    checkWhole(caller, first + rest)
  })

  it('says in the header and in the record what was lost, in the words of the caller', async () => {
    const { gateway } = await house([[supplier, GOOD[supplier]]])
    const [lossy, losses] = LOSSY[caller]
    for (const stream of [false, true]) {
      const response = await ask(gateway, caller, { ...lossy, stream })
      await response.arrayBuffer()
      const told = response.headers.get('x-svc-losses')!.split(', ')
      expect(told.toSorted()).toEqual([...losses])
      const id = response.headers.get('x-request-id')!
      const record = await gateway.manage('GET', `/calls/${id}`)
      const { losses: kept } = (await record.json()) as { losses: string[] }
      expect(kept.toSorted()).toEqual([...losses])
    }
  })

  it('is refused instead where the operator wants nothing lost, and nothing is sent', async () => {
    const { gateway, suppliers } = await house([[supplier, GOOD[supplier]]], {
      config: 'conversion: { losses: refuse }\n',
    })
    const [lossy, losses] = LOSSY[caller]
    const response = await ask(gateway, caller, lossy)
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as { error: { code: string; losses: string[] } }
    expect(error).toMatchObject({ code: 'unsupported_parameter' })
    expect(error.losses.toSorted()).toEqual([...losses])
    expect(suppliers[0]!.requests).toHaveLength(0)
    expect((await ask(gateway, caller)).status).toBe(200)
  })

  it('goes to who speaks the language, wherever it stands, where something would be lost and must not be', async () => {
    const { gateway } = await house(
      [
        [supplier, GOOD[supplier]],
        [caller, GOOD[caller]],
      ],
      { config: 'conversion: { losses: refuse }\n' },
    )
    const served = async (changes: object): Promise<string | null> =>
      (await ask(gateway, caller, changes)).headers.get('x-svc-supplier')
    expect(await served(LOSSY[caller][0])).toBe(`${caller}-2`)
    expect(await served({})).toBe(`${supplier}-1`)
  })

  it.each([false, true])('fails over from a relay to it and back (stream: %p)', async (stream) => {
    for (const [first, second] of [
      [caller, supplier],
      [supplier, caller],
    ] as const) {
      const { gateway, suppliers } = await house([
        [first, unwell],
        [second, GOOD[second]],
      ])
      const response = await ask(gateway, caller, { stream })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-svc-failover')).toBe('true')
      expect(response.headers.get('x-svc-supplier')).toBe(`${second}-2`)
      if (stream) {
        const text = await response.text()
        expect(piecesOf(text).join('')).toBe('Hi')
        if (second !== caller) checkWhole(caller, text)
      } else expect(await textOf(response)).toBe('Hi')
      expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 1])
      expect(gateway.audit()).toMatchObject([{ status: 200, attempts: 2, output_tokens: 7 }])
    }
  })

  it('fails over while nothing but a preamble has come', async () => {
    const { preamble, failing } = BROKEN[supplier]
    const { gateway } = await house([
      [supplier, streamed(preamble + failing)],
      [supplier, GOOD[supplier]],
    ])
    const response = await ask(gateway, caller, { stream: true })
    expect(response.headers.get('x-svc-supplier')).toBe(`${supplier}-2`)
    const text = await response.text()
    checkWhole(caller, text)
    expect(piecesOf(text)).toEqual(['H', 'i'])
  })

  it.each(['cut', 'error'])('never passes a broken stream off as a whole one (%s)', async (how) => {
    const { begun, failing } = BROKEN[supplier]
    const { gateway } = await house([
      [supplier, streamed(begun + (how === 'error' ? failing : ''))],
    ])
    const text = await (await ask(gateway, caller, { stream: true })).text()
    const code = how === 'cut' ? 'stream_interrupted' : 'stream_error'
    expect(failureIn(caller, text)).toMatchObject({ code })
    expect(text).not.toMatch(ENDINGS)
    expect(piecesOf(text)).toEqual(['H'])
    expect(gateway.audit()).toMatchObject([{ status: 200, code }])
  })

  it('keeps the wording of a refusal, in the envelope of the caller', async () => {
    const wording = 'temperature: must be at most 1, said in words of its own'
    const { gateway } = await house([
      [supplier, (_, reply) => reply.json(400, REFUSING[supplier](wording))],
    ])
    for (const stream of [false, true]) {
      const response = await ask(gateway, caller, { stream })
      expect(response.status).toBe(400)
      const body = (await response.json()) as { type?: string; error: { message: string } }
      expect(body.type).toBe(caller === 'messages' ? 'error' : undefined)
      expect(body.error.message).toContain(wording)
      expect(body.error).toMatchObject({ type: 'invalid_request_error' })
    }
  })

  it('hangs up on the supplier when the caller does', async () => {
    const script: Script = (_, reply) => reply.stream().send(BROKEN[supplier].begun)
    const { gateway, suppliers } = await house([[supplier, script]])
    const leaving = new AbortController()
    const { signal } = leaving
    const reader = (await ask(gateway, caller, { stream: true }, { signal })).body!.getReader()
    await reader.read()
    leaving.abort()
    await (
      await suppliers[0]!.request(0)
    ).closed
    await gateway.drain()
    expect(gateway.audit()).toMatchObject([{ status: 499, code: 'streaming_settlement_cancelled' }])
  })

  it('is answered twice with the same bytes under one Idempotency-Key', async () => {
    const { gateway, suppliers } = await house([[supplier, GOOD[supplier]]])
    const headers = { 'idempotency-key': 'once' }
    const twice = async (): Promise<string> =>
      (await ask(gateway, caller, { stream: true }, { headers })).text()
    const first = await twice()
    expect(await twice()).toBe(first)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is cut off where its supplier goes past the limit, in the words of the caller', async () => {
    const long = 'x'.repeat(4000)
    const texts: Readonly<Record<Language, string>> = {
      chat: chunk({ content: 'H' }) + chunk({ content: long }) + DONE,
      messages: START + begin(0) + say('H') + say(long) + end(0) + reason() + STOP,
      responses: printEvents([
        ...PREAMBLE,
        ...beginText(['H', long]),
        ...endText(`H${long}`),
        completed([messageItem(`H${long}`)]),
      ]),
    }
    const reasons: Readonly<Record<Language, string>> = {
      chat: '"finish_reason":"length"',
      messages: '"stop_reason":"max_tokens"',
      responses: '"incomplete_details":{"reason":"max_output_tokens"}',
    }
    const { gateway } = await house([[supplier, streamed(texts[supplier])]])
    const limit = { [LIMITS[caller]]: 16 }
    const answer = await (await ask(gateway, caller, { stream: true, ...limit })).text()
    expect(answer).not.toContain(long)
    checkWhole(caller, answer)
    expect(answer).toContain(reasons[caller])
  })
})

describe('responses from suppliers of other languages', () => {
  const OTHERS = ['chat', 'messages'] as const
  const STATES: readonly (readonly [string, object])[] = [
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    [
      'input[1]',
      {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'item_reference', id: 'a' },
        ],
      },
    ],
  ]

  it.each(STATES)(
    'are refused what only their supplier could remember: %s',
    async (param, state) => {
      for (const other of OTHERS) {
        const { gateway, suppliers } = await house([[other, GOOD[other]]])
        const response = await ask(gateway, 'responses', state)
        expect(response.status).toBe(400)
        const { error } = (await response.json()) as {
          readonly error: { readonly param: string; readonly message: string }
        }
        expect(error).toMatchObject({ code: 'unsupported_parameter' })
        expect(error.param).toStartWith(param)
        expect(error.message).toContain('`input`')
        expect(suppliers[0]!.requests).toHaveLength(0)
        await gateway.drain()
        expect(gateway.audit()).toMatchObject([{ status: 400, cost: 0 }])
      }
    },
  )

  it.each(STATES)('go to who can remember, and from there to nobody else: %s', async (_, state) => {
    const { gateway, suppliers } = await house([
      [
        'responses',
        (request, reply, index) => (index > 0 ? unwell : GOOD.responses)(request, reply, index),
      ],
      ['chat', GOOD.chat],
    ])
    const response = await ask(gateway, 'responses', state)
    expect(response.status).toBe(200)
    expect(await sentTo(suppliers[0]!)).toMatchObject(state)
    const failed = await ask(gateway, 'responses', state)
    expect(failed.ok).toBe(false)
    await failed.arrayBuffer()
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([2, 0])
  })

  it.each(OTHERS)('tell their usage in the last event, asked for or not (%s)', async (other) => {
    const { gateway } = await house([[other, GOOD[other]]])
    const text = await (await ask(gateway, 'responses', { stream: true })).text()
    const last = frames(text).at(-1)!
    expect(last).toMatchObject({
      type: 'response.completed',
      response: {
        id: expect.stringMatching(/^resp_/),
        status: 'completed',
        model: 'test-model',
        output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }],
        usage: {
          input_tokens: 11,
          input_tokens_details: { cached_tokens: 6 },
          output_tokens: 7,
          total_tokens: 18,
        },
      },
    })
    expect(text).not.toContain('[DONE]')
  })

  it.each(OTHERS)(
    'number their events to the last, also where it is a failure (%s)',
    async (other) => {
      const { begun, failing } = BROKEN[other]
      const { gateway } = await house([[other, streamed(begun + failing)]])
      const text = await (await ask(gateway, 'responses', { stream: true })).text()
      const all = frames(text) as { sequence_number: number; response?: { id: string } }[]
      expect(all.map((frame) => frame.sequence_number)).toEqual(all.map((_, place) => place))
      const ids = all.flatMap(({ response }) => (response === undefined ? [] : [response.id]))
      expect(new Set(ids).size).toBe(1)
    },
  )

  it('are kept by nobody, and say so', async () => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]])
    const response = await ask(gateway, 'responses', { store: true })
    expect(await response.json()).toMatchObject({ store: false, previous_response_id: null })
    expect(await sentTo(suppliers[0]!)).not.toContainAnyKeys(['store', 'input', 'include'])
  })

  it.each(OTHERS)('have a call and its result carried over two turns (%s)', async (other) => {
    const { gateway, suppliers } = await house([[other, calling(other)]])
    const tools = [{ type: 'function', name: 'now', parameters: { type: 'object' }, strict: false }]
    const input = [{ role: 'user', content: 'Time?' }]
    const first = await ask(gateway, 'responses', { input, tools })
    const { output } = (await first.json()) as { output: Record<string, unknown>[] }
    expect(output).toMatchObject([
      { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{"zone":"UTC"}' },
    ])
    const result = { type: 'function_call_output', call_id: 'call_1', output: 'Noon' }
    const second = await ask(gateway, 'responses', { input: [...input, ...output, result], tools })
    expect(second.headers.has('x-svc-losses')).toBe(false)
    const { messages } = (await sentTo(suppliers[0]!, 1)) as { messages: object[] }
    expect(messages).toMatchObject(
      other === 'chat'
        ? [
            { role: 'user' },
            { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
            { role: 'tool', tool_call_id: 'call_1', content: 'Noon' },
          ]
        : [
            { role: 'user' },
            { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1' }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1' }] },
          ],
    )
  })

  it('are refused with what makes no sense before any money is held', async () => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]])
    const response = await ask(gateway, 'responses', {
      input: [{ type: 'function_call_output', output: 'x' }],
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'validation_error' } })
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

type Events = readonly Readonly<Record<string, unknown>>[]

function incomplete(reason: string): Events[number] {
  const changes = { status: 'incomplete', incomplete_details: { reason } }
  return { ...completed([messageItem('Hi')], changes), type: 'response.incomplete' }
}

/** Calls the one tool at once. */
function calling(language: 'chat' | 'messages'): Script {
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'now', arguments: '{"zone":"UTC"}' },
  }
  const use = { type: 'tool_use', id: 'call_1', name: 'now', input: { zone: 'UTC' } }
  return (_, reply) =>
    reply.json(
      200,
      language === 'chat'
        ? {
            id: 'chatcmpl-1',
            choices: [
              {
                index: 0,
                message: { role: 'assistant', content: null, tool_calls: [call] },
                finish_reason: 'tool_calls',
              },
            ],
            usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
          }
        : {
            id: 'msg_1',
            type: 'message',
            role: 'assistant',
            content: [use],
            stop_reason: 'tool_use',
            usage: { input_tokens: 11, output_tokens: 7 },
          },
    )
}

describe('suppliers of responses, asked in another language', () => {
  it.each(['chat', 'messages'] as const)('are asked to keep nothing (%s)', async (caller) => {
    const { gateway, suppliers } = await house([['responses', GOOD.responses]])
    await (await ask(gateway, caller, { stream: true })).arrayBuffer()
    const { head } = await suppliers[0]!.request(0)
    expect(head).toStartWith('POST /v1/responses ')
    const sent = await sentTo(suppliers[0]!)
    expect(sent).toMatchObject({ model: 'upstream-model', store: false, stream: true })
    expect(sent).not.toContainAnyKeys(['messages', 'stream_options', 'max_tokens', 'metadata'])
  })

  it.each(['error', 'response.failed'])(
    'may say in either way that they fail (%s)',
    async (how) => {
      const failing =
        how === 'error' ? BROKEN.responses.failing : printEvents([failedEvent('no')], 5)
      const { gateway } = await house([
        ['responses', streamed(BROKEN.responses.begun + failing)],
        ['responses', GOOD.responses],
      ])
      const text = await (await ask(gateway, 'chat', { stream: true })).text()
      expect(failureIn('chat', text)).toMatchObject({ code: 'stream_error' })
      expect(failureIn('chat', text).message).toContain('no')
      const other = await house([
        ['responses', streamed(printEvents([...PREAMBLE, failedEvent('no')]))],
        ['responses', GOOD.responses],
      ])
      const response = await ask(other.gateway, 'chat', { stream: true })
      expect(response.headers.get('x-svc-supplier')).toBe('responses-2')
      expect(piecesOf(await response.text())).toEqual(['H', 'i'])
    },
  )

  const CALL = callItem('call_1', 'now', '{"zone":"UTC"}')
  const TEXT = [...beginText(['Hi']), ...endText('Hi')]
  const ENDS: readonly (readonly [string, Events, string, string])[] = [
    ['a call', [...callEvents(CALL), completed([CALL])], 'tool_calls', 'tool_use'],
    ['its limit', [...TEXT, incomplete('max_output_tokens')], 'length', 'max_tokens'],
    ['a filter', [...TEXT, incomplete('content_filter')], 'content_filter', 'refusal'],
    ['its end', [...TEXT, completed([messageItem('Hi')])], 'stop', 'end_turn'],
  ]

  it.each(ENDS)('say with their last event why they end: %s', async (_, events, finish, stop) => {
    const text = printEvents([...PREAMBLE, ...events])
    const { gateway } = await house([['responses', streamed(text)]])
    const chat = await (await ask(gateway, 'chat', { stream: true })).text()
    expect(chat).toContain(`"finish_reason":"${finish}"`)
    const messages = await (await ask(gateway, 'messages', { stream: true })).text()
    checkMessageStream(messages)
    expect(messages).toContain(`"stop_reason":"${stop}"`)
  })

  it.each(['chat', 'messages'] as const)('get their thoughts back (%s)', async (caller) => {
    const thinking: Script = (_, reply) =>
      reply.json(200, response([thoughtItem('Hm', 'c2ln'), messageItem('Hi')]))
    const { gateway, suppliers } = await house([['responses', thinking]])
    const answer = (await (await ask(gateway, caller)).json()) as {
      readonly choices?: readonly { readonly message: object }[]
      readonly content?: object
    }
    const echo = answer.choices?.[0]?.message ?? { role: 'assistant', content: answer.content }
    const user = { role: 'user', content: 'Go on' }
    const again = await ask(gateway, caller, { messages: [user, echo, user] })
    expect(again.headers.has('x-svc-losses')).toBe(false)
    const { input } = await sentTo(suppliers[0]!, 1)
    const summary = [{ type: 'summary_text', text: 'Hm' }]
    const thought = { type: 'reasoning', summary, encrypted_content: 'c2ln' }
    expect(input).toMatchObject([{ role: 'user' }, thought, { role: 'assistant' }, user])
  })

  it('tell a chat its usage in the last chunk where it asks for it, and else not', async () => {
    const { gateway } = await house([['responses', GOOD.responses]])
    const usagesOf = async (changes: object): Promise<readonly unknown[]> => {
      const text = await (await ask(gateway, 'chat', { stream: true, ...changes })).text()
      return frames(text).flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
    }
    expect(await usagesOf({})).toEqual([])
    expect(await usagesOf({ stream_options: { include_usage: true } })).toMatchObject([
      { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ])
  })
})

describe('one list of suppliers of three languages', () => {
  it.each(['chat', 'messages', 'responses'] as const)('serves callers of %s', async (caller) => {
    const order: readonly Language[] = ['chat', 'messages', 'responses']
    for (const last of order) {
      const list = order.toSorted((one, other) => Number(one === last) - Number(other === last))
      const { gateway, suppliers } = await house(
        list.map((language) => [language, language === last ? GOOD[last] : unwell] as const),
      )
      const text = await (await ask(gateway, caller, { stream: true })).text()
      // What is relayed is the supplier's own, whatever else it has.
      if (last !== caller) checkWhole(caller, text)
      expect(piecesOf(text)).toEqual(['H', 'i'])
      expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 1, 1])
    }
  })

  it('is explained with what each of them would lose', async () => {
    const { gateway } = await house([
      ['responses', GOOD.responses],
      ['chat', GOOD.chat],
      ['messages', GOOD.messages],
    ])
    const response = await gateway.manage('POST', '/explain', {
      endpoint: '/v1/responses',
      request: {
        ...HELLO_RESPONSES,
        truncation: 'auto',
        text: { format: { type: 'json_object' } },
      },
    })
    const { candidates } = (await response.json()) as { candidates: object[] }
    expect(candidates).toMatchObject([
      { supplier: 'responses-1', relay: 'relay', losses: [] },
      { supplier: 'chat-2', relay: 'convert', losses: ['/truncation'] },
      { supplier: 'messages-3', relay: 'convert', losses: ['/truncation', '/text/format'] },
    ])
  })
})
