// Streams that break after the caller has some of them: the caller is told, never given a false end, and
// nobody else is asked. What is merely odd passes.
import { afterEach, describe, expect, it } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { HELLO } from './fakes/gateway.ts'
import {
  ANSWER,
  closeStreet,
  createGate,
  good,
  HI,
  openStreet,
  readText,
  ROLE,
  sendEvents,
  STOP,
  type ErrorBody,
  type Street,
} from './fakes/street.ts'
import {
  chunk,
  completion,
  DONE,
  USAGE_CHUNK,
  type FakeReply,
  type FakeStream,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const MEBIBYTE = 1_048_576
const BEGUN = ROLE + HI

interface Break {
  readonly name: string
  /** What the supplier does once the caller has the first content. */
  readonly breaks: (reply: FakeReply, stream: FakeStream) => void
  readonly code: string
  readonly provider?: unknown
  readonly isUsageKnown?: true
  readonly isAbandoned?: true
}

const BREAKS: readonly Break[] = [
  { name: 'resets', breaks: (reply) => reply.reset(), code: 'stream_interrupted' },
  { name: 'drops the connection', breaks: (reply) => reply.close(), code: 'stream_interrupted' },
  {
    name: 'ends without a reason',
    breaks: (_, stream) => stream.end(),
    code: 'stream_interrupted',
  },
  {
    name: 'sends its marker without a reason',
    breaks: (_, stream) => stream.send(DONE),
    code: 'stream_interrupted',
    isAbandoned: true,
  },
  {
    name: 'reports an error',
    breaks: (_, stream) =>
      stream.send('data: {"error":{"message":"sorry","code":"overloaded"}}\n\n'),
    code: 'stream_error',
    provider: { message: 'sorry', code: 'overloaded' },
    isAbandoned: true,
  },
  {
    name: 'sends an event that is no JSON',
    breaks: (_, stream) => stream.send('data: {"garbled\n\n'),
    code: 'stream_error',
    isAbandoned: true,
  },
  {
    name: 'sends a line of 17 MiB',
    breaks: (_, stream) => {
      stream.send('data: ')
      for (let sent = 0; sent < 17; sent++) stream.send(Buffer.alloc(MEBIBYTE, 'x'))
    },
    code: 'provider_response_too_large',
    isAbandoned: true,
  },
  {
    name: 'leaves one of two choices unfinished',
    breaks: (_, stream) => {
      stream.send(chunk({}, null, { choices: [{ index: 1, delta: { content: 'Ho' } }] }))
      stream.send(STOP + USAGE_CHUNK + DONE)
      stream.end()
    },
    code: 'stream_interrupted',
    isUsageKnown: true,
  },
]

/** A supplier that sends the first content and does the rest when it is told to. */
function inTwoSteps(rest: Break['breaks']): { readonly script: Script; readonly goOn: () => void } {
  const gate = createGate()
  return {
    goOn: gate.open,
    async script(_, reply) {
      const stream = reply.stream()
      stream.send(BEGUN)
      await gate.opened
      rest(reply, stream)
    },
  }
}

/** Asks for a stream, reads its first content, lets the supplier go on and reads the rest. */
async function readThrough({ gateway }: Street, goOn: () => void): Promise<string> {
  const response = await gateway.chat({ ...HELLO, stream: true })
  expect(response.status).toBe(200)
  const reader = readText(response)
  await reader.until('Hi')
  goOn()
  return reader.rest()
}

describe('a supplier that fails after the first content', () => {
  it.each(BREAKS.map((each) => [each.name, each] as const))('%s', async (_, fault) => {
    const { script, goOn } = inTwoSteps(fault.breaks)
    const street = await openStreet([script, good])
    const { gateway, suppliers } = street
    const text = await readThrough(street, goOn)
    const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
    const { error } = JSON.parse(events.at(-1)!.slice(6)) as ErrorBody
    expect(error.code).toBe(fault.code)
    expect(error.message).toBe(`${error.code} - ${error.human_message}`)
    expect(error.provider).toEqual(fault.provider)
    expect(text).toStartWith(BEGUN)
    expect(text).not.toContain('[DONE]')
    expect(text).not.toContain('garbled')
    expect(suppliers[1]!.connections()).toBe(0)
    if (fault.isAbandoned) await suppliers[0]!.requests[0]!.closed
    // What was told, or else what was asked and delivered.
    const [inputTokens, cost] = fault.isUsageKnown ? [11, 5850] : [25, 4350]
    expect(gateway.audit()).toMatchObject([
      {
        status: 200,
        code: fault.code,
        supplier: 'fake',
        attempts: 1,
        stream: 1,
        input_tokens: inputTokens,
        cost,
      },
    ])
  })

  it('is paid exactly when it told the usage before it broke', async () => {
    const gate = createGate()
    const { gateway } = await openStreet([
      async (_, reply) => {
        reply.stream().send(BEGUN + USAGE_CHUNK)
        await gate.opened
        reply.reset()
      },
    ])
    const options = { stream_options: { include_usage: true } }
    const reader = readText(await gateway.chat({ ...HELLO, stream: true, ...options }))
    await reader.until('prompt_tokens')
    gate.open()
    expect(await reader.rest()).toContain('"code":"stream_interrupted"')
    expect(gateway.audit()).toMatchObject([
      { status: 200, code: 'stream_interrupted', input_tokens: 11, output_tokens: 7, cost: 5850 },
    ])
  })
})

describe('a supplier that is only odd', () => {
  it('may leave out the usage', async () => {
    const { script, goOn } = inTwoSteps((_, stream) => {
      stream.send(STOP + DONE)
      stream.end()
    })
    const street = await openStreet([script])
    const text = await readThrough(street, goOn)
    expect(text).toEndWith(DONE)
    expect(text).not.toContain('"error"')
    expect(street.gateway.audit()).toMatchObject([
      { status: 200, code: null, input_tokens: 25, output_tokens: 1, cost: 4350 },
    ])
  })

  it('may leave out the closing marker', async () => {
    const { script, goOn } = inTwoSteps((_, stream) => {
      stream.send(STOP + USAGE_CHUNK)
      stream.end()
    })
    const street = await openStreet([script])
    const text = await readThrough(street, goOn)
    expect(text).toContain(STOP)
    expect(text).not.toContain('"error"')
    expect(street.gateway.audit()).toMatchObject([{ status: 200, code: null, input_tokens: 11 }])
  })

  it('may send more of a choice that has its reason, and what follows the marker is dropped', async () => {
    const { script, goOn } = inTwoSteps((_, stream) => {
      stream.send(STOP + chunk({ content: '' }) + DONE + chunk({ content: 'late' }))
      stream.end()
    })
    const text = await readThrough(await openStreet([script]), goOn)
    expect(text).toEndWith(DONE)
    expect(text).not.toContain('late')
    expect(text).not.toContain('"error"')
  })

  it.each([false, true])(
    'may compress, though it was asked not to (stream: %p)',
    async (stream) => {
      const plain = stream ? ANSWER.join('') + USAGE_CHUNK + DONE : JSON.stringify(completion('Hi'))
      const { gateway, suppliers } = await openStreet([
        (_, reply) => {
          const bytes = gzipSync(plain)
          const type = stream ? 'text/event-stream' : 'application/json'
          reply.raw(
            `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-encoding: gzip\r\n` +
              `content-length: ${bytes.length}\r\n\r\n`,
          )
          reply.raw(bytes)
        },
      ])
      const response = await gateway.chat({ ...HELLO, stream })
      expect(response.headers.get('content-encoding')).toBeNull()
      expect(await response.text()).toContain(stream ? ANSWER.join('') : plain)
      expect(suppliers[0]!.requests[0]!.headers.get('accept-encoding')).toBe('identity')
      expect(gateway.audit()).toMatchObject([{ status: 200, input_tokens: 11, output_tokens: 7 }])
    },
  )

  it.each([-1, 1.5, '7', 1e15, Number.MAX_SAFE_INTEGER, null])(
    'may tell %p for its usage, and is then not believed but counted',
    async (count) => {
      const usage = { prompt_tokens: count, completion_tokens: 7 }
      const { gateway } = await openStreet([
        (request, reply) => {
          const { stream } = JSON.parse(request.body.toString()) as { stream: boolean }
          if (stream) sendEvents(reply, [...ANSWER, chunk({}, null, { choices: [], usage }), DONE])
          else reply.json(200, completion('Hi', usage))
        },
      ])
      for (const stream of [false, true]) {
        const response = await gateway.chat({ ...HELLO, stream })
        expect(response.status).toBe(200)
        expect(await response.text()).not.toContain('"error"')
      }
      const row = { status: 200, code: null, input_tokens: 25, output_tokens: 1, cost: 4350 }
      expect(gateway.audit()).toMatchObject([row, row])
    },
  )

  it('cannot fill the memory with a small body that unpacks to a large one', async () => {
    const { gateway } = await openStreet([
      (_, reply) => {
        const bytes = gzipSync(Buffer.alloc(40 * MEBIBYTE, ' '))
        reply.raw(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n`)
        reply.raw(`content-length: ${bytes.length}\r\n\r\n`)
        reply.raw(bytes)
      },
    ])
    const response = await gateway.chat(HELLO)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({ error: { code: 'provider_response_too_large' } })
  })
})

describe('a stream with fewer choices than were asked for', () => {
  const two = { ...HELLO, stream: true, n: 2 }

  it('is cut where it merely ends', async () => {
    const { gateway } = await openStreet([(_, reply) => sendEvents(reply, ANSWER)])
    const text = await (await gateway.chat(two)).text()
    expect(text).toContain('"code":"stream_interrupted"')
  })

  it('is whole where the supplier closes it with its marker', async () => {
    const { gateway } = await openStreet([(_, reply) => sendEvents(reply, [...ANSWER, DONE])])
    const text = await (await gateway.chat(two)).text()
    expect(text).toEndWith(DONE)
    expect(text).not.toContain('"error"')
  })
})

describe('a supplier whose streams break', () => {
  const MANY = 5
  let asked = 0

  /** Begins like no other, so that no session holds it where the one before was. */
  const askAnew = (street: Street, changes: object): Promise<Response> =>
    street.gateway.chat({
      ...HELLO,
      messages: [{ role: 'user', content: `Hello ${asked++}` }],
      ...changes,
    })

  /** Who answers a call that nothing else is known of. */
  const whoAnswers = async (street: Street): Promise<string | null> => {
    const response = await askAnew(street, {})
    await response.text()
    return response.headers.get('x-svc-supplier')
  }

  const STREAM = { stream: true, stream_options: { include_usage: true } }

  it('at the very end, when all was told, is left alone like one that breaks sooner', async () => {
    let gate = createGate()
    const street = await openStreet([
      async (_, reply) => {
        reply.stream().send(BEGUN + STOP + USAGE_CHUNK)
        await gate.opened
        reply.reset()
      },
      good,
    ])
    for (let each = 0; each < MANY; each++) {
      gate = createGate()
      const reader = readText(await askAnew(street, STREAM))
      await reader.until('prompt_tokens')
      gate.open()
      expect(await reader.rest()).toContain('"code":"stream_interrupted"')
    }
    for (const row of street.gateway.audit())
      expect(row).toMatchObject({ code: 'stream_interrupted', input_tokens: 11, cost: 5850 })
    expect(await whoAnswers(street)).toBe('fake-2')
    expect(street.suppliers[0]!.requests).toHaveLength(MANY)
  })

  it('by what is too large to read is not, because anybody may be asked for that', async () => {
    const large: Script = (_, reply) => {
      const stream = reply.stream()
      stream.send(BEGUN)
      stream.send(`data: ${'x'.repeat(5000)}`)
    }
    const street = await openStreet([(...told) => (told[2] < MANY ? large : good)(...told), good], {
      frameBytesMax: 4096,
    })
    for (let each = 0; each < MANY; each++)
      expect(await (await askAnew(street, STREAM)).text()).toContain('provider_response_too_large')
    expect(await whoAnswers(street)).toBe('fake')
  })

  it.each<readonly [how: string, events: readonly string[] | undefined]>([
    ['tells its usage', [...ANSWER, USAGE_CHUNK, DONE]],
    ['does not tell its usage', [...ANSWER, DONE]],
    ['comes whole', undefined],
  ])('now and then is not, where a good answer between %s', async (_, events) => {
    const street = await openStreet([
      (request, reply, index) => {
        if (index % MANY !== MANY - 1) return sendEvents(reply, [BEGUN])
        return events === undefined ? good(request, reply, index) : sendEvents(reply, events)
      },
      good,
    ])
    const rounds = 2 * MANY
    for (let index = 0; index < rounds; index++) {
      const isGood = index % MANY === MANY - 1
      const response = await askAnew(street, isGood && events === undefined ? {} : STREAM)
      expect(response.headers.get('x-svc-supplier')).toBe('fake')
      expect((await response.text()).includes('stream_interrupted')).toBe(!isGood)
    }
    expect(street.suppliers[0]!.requests).toHaveLength(rounds)
  })
})
