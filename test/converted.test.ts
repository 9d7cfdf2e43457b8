// Calls to suppliers of another language, through the whole gateway: what arrives there, what comes back, what it
// costs, what was lost, and what happens when something breaks.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO } from './fakes/gateway.ts'
import {
  ask,
  CHUNKS,
  closeHouses,
  frames,
  GOOD,
  house,
  sentTo,
  streamed,
  textOf,
  unwell,
} from './fakes/languages.ts'
import { checkMessageStream } from './fakes/message-grammar.ts'
import {
  begin,
  end,
  HELLO_MESSAGES,
  MESSAGES_COST,
  overloaded,
  postMessages,
  reason,
  say,
  START,
  STOP,
} from './fakes/messages.ts'
import { chunk, DONE, type Script } from './fakes/supplier.ts'

afterEach(closeHouses)

const WAYS = [
  ['messages', 'chat'],
  ['chat', 'messages'],
] as const

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
    if (caller === 'messages') checkMessageStream(text)
    else expect(text.endsWith(DONE)).toBe(true)
    const said = frames(text).map(
      (frame) =>
        (frame as { delta?: { text?: string } }).delta?.text ??
        (frame as { choices?: { delta: { content?: string } }[] }).choices?.[0]?.delta.content ??
        '',
    )
    expect(said.join('')).toBe('Hi')
    expect(gateway.audit()).toMatchObject([{ status: 200, input_tokens: 11, output_tokens: 7 }])
  })

  it('passes every piece on as it comes', async () => {
    const pieces = Promise.withResolvers<void>()
    const script: Script = async (_, reply) => {
      const stream = reply.stream()
      if (supplier === 'chat') stream.send(CHUNKS.slice(0, 2).join(''))
      else stream.send(START + begin(0) + say('H'))
      await pieces.promise
      if (supplier === 'chat') stream.send(CHUNKS.slice(2).join('') + DONE)
      else stream.send(say('i') + end(0) + reason() + STOP)
      stream.end()
    }
    const { gateway } = await house([[supplier, script]])
    const response = await ask(gateway, caller, { stream: true })
    const reader = response.body!.getReader()
    const first = Buffer.from((await reader.read()).value ?? []).toString()
    expect(first).toContain('H')
    expect(first).not.toContain('"i"')
    pieces.resolve()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read())
      rest += Buffer.from(part.value).toString()
    expect(rest).toContain('"i"')
  })

  it('says in the header and in the record what was lost, in the words of the caller', async () => {
    const { gateway } = await house([[supplier, GOOD[supplier]]])
    const lost = caller === 'chat' ? { logit_bias: { 1: 2 }, seed: 7 } : { top_k: 5, mystery: 1 }
    const losses = caller === 'chat' ? ['/logit_bias', '/seed'] : ['/mystery', '/top_k']
    for (const stream of [false, true]) {
      const response = await ask(gateway, caller, { ...lost, stream })
      await response.arrayBuffer()
      const told = response.headers.get('x-svc-losses')!.split(', ')
      expect(told.toSorted()).toEqual(losses)
      const id = response.headers.get('x-request-id')!
      const record = await gateway.manage('GET', `/calls/${id}`)
      expect(((await record.json()) as { losses: string[] }).losses.toSorted()).toEqual(losses)
    }
  })

  it('is refused instead where the operator wants nothing lost, and nothing is sent', async () => {
    const { gateway, suppliers } = await house([[supplier, GOOD[supplier]]], {
      config: 'conversion: { losses: refuse }\n',
    })
    const lossy = caller === 'chat' ? { seed: 7 } : { top_k: 5 }
    const response = await ask(gateway, caller, lossy)
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as { error: { code: string; losses: string[] } }
    expect(error).toMatchObject({ code: 'unsupported_parameter' })
    expect(error.losses).toEqual([caller === 'chat' ? '/seed' : '/top_k'])
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
    const lossy = caller === 'chat' ? { seed: 7 } : { top_k: 5 }
    const served = async (changes: object): Promise<string | null> =>
      (await ask(gateway, caller, changes)).headers.get('x-svc-supplier')
    expect(await served(lossy)).toBe(`${caller}-2`)
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
      const text = await response.text()
      expect(response.status).toBe(200)
      expect(response.headers.get('x-svc-failover')).toBe('true')
      expect(response.headers.get('x-svc-supplier')).toBe(`${second}-2`)
      expect(text).toContain(stream ? '"H"' : '"Hi"')
      if (stream && caller === 'messages' && second === 'chat') checkMessageStream(text)
      expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 1])
      expect(gateway.audit()).toMatchObject([{ status: 200, attempts: 2, output_tokens: 7 }])
    }
  })

  it('fails over while nothing but a preamble has come', async () => {
    const begun = supplier === 'chat' ? CHUNKS[0]! : START
    const failing = supplier === 'chat' ? 'data: {"error":{"message":"no"}}\n\n' : overloaded()
    const { gateway } = await house([
      [supplier, streamed(begun + failing)],
      [supplier, GOOD[supplier]],
    ])
    const response = await ask(gateway, caller, { stream: true })
    expect(response.headers.get('x-svc-supplier')).toBe(`${supplier}-2`)
    const text = await response.text()
    if (caller === 'messages') checkMessageStream(text)
    expect(text.match(/message_start|"role":"assistant"/g)?.length).toBe(
      caller === 'messages' ? 3 : 1,
    )
  })

  it.each(['cut', 'error'])('never passes a broken stream off as a whole one (%s)', async (how) => {
    const begun = supplier === 'chat' ? CHUNKS.slice(0, 2).join('') : START + begin(0) + say('H')
    const failing = supplier === 'chat' ? 'data: {"error":{"message":"no"}}\n\n' : overloaded()
    const { gateway } = await house([
      [supplier, streamed(begun + (how === 'error' ? failing : ''))],
    ])
    const text = await (await ask(gateway, caller, { stream: true })).text()
    const last = frames(text).at(-1)!
    expect(last).toMatchObject({
      error: { code: how === 'cut' ? 'stream_interrupted' : 'stream_error' },
    })
    expect(text).not.toContain('message_stop')
    expect(text).not.toContain('[DONE]')
    expect(text).not.toMatch(/"finish_reason":"|"stop_reason":"/)
    if (caller === 'messages') expect(text).toContain('event: error\n')
    expect(gateway.audit()).toMatchObject([
      { status: 200, code: how === 'cut' ? 'stream_interrupted' : 'stream_error' },
    ])
  })

  it('keeps the wording of a refusal, in the envelope of the caller', async () => {
    const wording = 'temperature: must be at most 1, said in words of its own'
    const said =
      supplier === 'chat'
        ? { error: { message: wording, type: 'invalid_request_error', code: 'bad_temperature' } }
        : { type: 'error', error: { type: 'invalid_request_error', message: wording } }
    const { gateway } = await house([[supplier, (_, reply) => reply.json(400, said)]])
    const response = await ask(gateway, caller)
    expect(response.status).toBe(400)
    const body = (await response.json()) as { type?: string; error: { message: string } }
    expect(body.type).toBe(caller === 'messages' ? 'error' : undefined)
    expect(body.error.message).toContain(wording)
    expect(body.error).toMatchObject({ type: 'invalid_request_error' })
  })

  it('hangs up on the supplier when the caller does', async () => {
    const script: Script = (_, reply) => {
      const stream = reply.stream()
      stream.send(supplier === 'chat' ? CHUNKS.slice(0, 2).join('') : START + begin(0) + say('H'))
    }
    const { gateway, suppliers } = await house([[supplier, script]])
    const leaving = new AbortController()
    const asking =
      caller === 'chat'
        ? gateway.chat({ ...HELLO, stream: true }, { signal: leaving.signal })
        : postMessages(gateway, { ...HELLO_MESSAGES, stream: true }, { signal: leaving.signal })
    const reader = (await asking).body!.getReader()
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
    const twice = async (): Promise<string> => {
      const asking =
        caller === 'chat'
          ? gateway.chat({ ...HELLO, stream: true }, { headers })
          : postMessages(gateway, { ...HELLO_MESSAGES, stream: true }, { headers })
      return (await asking).text()
    }
    const first = await twice()
    expect(await twice()).toBe(first)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is cut off where its supplier goes past the limit, in the words of the caller', async () => {
    const long = 'x'.repeat(4000)
    const text =
      supplier === 'chat'
        ? chunk({ content: 'H' }) + chunk({ content: long }) + DONE
        : START + begin(0) + say('H') + say(long) + end(0) + reason() + STOP
    const { gateway } = await house([[supplier, streamed(text)]])
    const answer = await (await ask(gateway, caller, { stream: true, max_tokens: 10 })).text()
    expect(answer).not.toContain(long)
    if (caller === 'messages') {
      checkMessageStream(answer)
      expect(answer).toContain('"stop_reason":"max_tokens"')
    } else {
      expect(answer).toContain('"finish_reason":"length"')
      expect(answer.endsWith(DONE)).toBe(true)
    }
  })
})

describe('a chat from a supplier of messages', () => {
  it('tells its usage in the last chunk to who asks for it, and to nobody else', async () => {
    const { gateway } = await house([['messages', GOOD.messages]])
    const usagesOf = async (changes: object): Promise<readonly unknown[]> => {
      const text = await (await ask(gateway, 'chat', { stream: true, ...changes })).text()
      return frames(text).flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
    }
    expect(await usagesOf({})).toEqual([])
    expect(await usagesOf({ stream_options: { include_usage: true } })).toMatchObject([
      { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    ])
  })

  it('has a limit sent where the language demands one, no higher than was held for', async () => {
    const { gateway, suppliers } = await house([['messages', GOOD.messages]])
    await (await ask(gateway, 'chat')).arrayBuffer()
    await (await ask(gateway, 'chat', { max_completion_tokens: 99 })).arrayBuffer()
    expect(await sentTo(suppliers[0]!)).toMatchObject({
      max_tokens: 32_768,
      model: 'upstream-model',
    })
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject({ max_tokens: 99 })
    const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.01 })
    const headers = { authorization: `Bearer ${key}` }
    const response = await gateway.chat(HELLO, { headers })
    expect(response.headers.get('x-svc-max-tokens')).not.toBeNull()
    const { max_tokens: limit } = await sentTo(suppliers[0]!, 2)
    expect(String(limit)).toBe(response.headers.get('x-svc-max-tokens')!)
  })

  it('sends the version of the language and no header of the caller', async () => {
    const { gateway, suppliers } = await house([['messages', GOOD.messages]])
    await gateway.chat(HELLO, { headers: { 'anthropic-beta': 'x', 'openai-organization': 'y' } })
    const { headers } = await suppliers[0]!.request(0)
    expect(headers.get('anthropic-version')).toBe('2023-06-01')
    expect(headers.has('anthropic-beta')).toBe(false)
    expect(headers.has('openai-organization')).toBe(false)
  })
})

describe('messages from a supplier of chats', () => {
  it('begin with an honest guess at the input and end with the figures of the supplier', async () => {
    const { gateway } = await house([['chat', GOOD.chat]])
    const content = 'word '.repeat(400)
    const response = await ask(gateway, 'messages', {
      stream: true,
      messages: [{ role: 'user', content }],
    })
    const all = frames(await response.text())
    const start = all[0] as { message: { usage: { input_tokens: number } } }
    expect(start.message.usage.input_tokens).toBeGreaterThan(200)
    expect(start.message.usage.input_tokens).toBeLessThan(1000)
    expect(all.find(({ type }) => type === 'message_delta')).toMatchObject({
      usage: {
        input_tokens: 3,
        cache_read_input_tokens: 6,
        cache_creation_input_tokens: 2,
        output_tokens: 7,
      },
    })
  })

  it('asks for the usage of a stream, by the quirks of the supplier', async () => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]], {
      changes: { quirks: { usage: 'ask', maxTokensName: 'max_completion_tokens', drop: ['user'] } },
    })
    const response = await ask(gateway, 'messages', { stream: true, metadata: { user_id: 'u' } })
    await response.arrayBuffer()
    const sent = await sentTo(suppliers[0]!)
    expect(sent).toMatchObject({
      stream_options: { include_usage: true },
      max_completion_tokens: 64,
      model: 'upstream-model',
    })
    expect(sent).not.toContainAnyKeys(['user', 'max_tokens', 'metadata'])
  })

  it('end where a supplier gives its reason to stop and then just ends', async () => {
    const { gateway } = await house([['chat', streamed(CHUNKS.join(''))]])
    const text = await (await ask(gateway, 'messages', { stream: true })).text()
    checkMessageStream(text)
  })

  it('are refused with what makes no sense before any money is held', async () => {
    const { gateway, suppliers } = await house([['chat', GOOD.chat]])
    const response = await ask(gateway, 'messages', {
      messages: [{ role: 'user', content: [{ type: 'tool_result', content: 'x' }] }],
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'validation_error' } })
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

describe('an explanation', () => {
  it('says of each candidate whether it is relayed or converted, and what would be lost', async () => {
    const { gateway } = await house([
      ['messages', GOOD.messages],
      ['chat', GOOD.chat],
    ])
    const response = await gateway.manage('POST', '/explain', {
      endpoint: '/v1/messages',
      request: { ...HELLO_MESSAGES, top_k: 3 },
    })
    const { candidates } = (await response.json()) as { candidates: object[] }
    expect(candidates).toMatchObject([
      { supplier: 'messages-1', relay: 'relay', losses: [] },
      { supplier: 'chat-2', relay: 'convert', losses: ['/top_k'] },
    ])
  })
})
