// What calls and tools are called by on their way to suppliers that refuse long names and ids of another form, and who
// may speak behind whom.
import { describe, expect, it } from 'bun:test'
import type { ChatRequest, Tool, Turn } from '../../../core/chat.ts'
import type { EncodedRequest, Target } from '../../codec.ts'
import type { Quirks } from '../../quirk.ts'
import { encodeRequest } from './request-encode.ts'

const decoder = new TextDecoder()

interface Sent {
  readonly messages: readonly {
    readonly role: string
    readonly content: unknown
    readonly tool_call_id?: string
    readonly tool_calls?: readonly { readonly id: string; readonly function: Sent['function'] }[]
  }[]
  readonly tools: readonly { readonly function: Sent['function'] }[]
  readonly tool_choice: { readonly function: Sent['function'] }
  readonly function: {
    readonly name: string
    readonly arguments: string
    readonly strict?: boolean
  }
}

function encode(
  request: Partial<ChatRequest>,
  quirks: Partial<Quirks> = {},
): Sent & Pick<EncodedRequest, 'lost' | 'names'> {
  const target: Target = {
    model: 'm',
    supplier: 'acme',
    maxTokens: undefined,
    maxTokensDefault: 4096,
    reasoning: 'effort',
    samples: undefined,
    quirks: { usage: 'ask', ...quirks },
  }
  const empty: ChatRequest = { system: [], turns: [], tools: [], stream: false, stop: [] }
  const { body, lost, names } = encodeRequest({ ...empty, ...request }, target)
  return { ...(JSON.parse(decoder.decode(body)) as Sent), lost, ...(names && { names }) }
}

/** A conversation in which each of these was called, and has come to something. */
function turnsOf(...ids: readonly string[]): readonly Turn[] {
  return ids.flatMap((id): readonly Turn[] => [
    { role: 'assistant', parts: [{ kind: 'call', id, name: 'look', input: '{}' }] },
    { role: 'user', parts: [{ kind: 'result', id, parts: [], isError: false }] },
  ])
}

/** As they were sent, of calls and of what came of them. */
function idsOf(turns: readonly Turn[], quirks?: Partial<Quirks>): readonly (string | undefined)[] {
  return encode({ turns }, quirks).messages.map(
    ({ tool_call_id: id, tool_calls: calls }) => id ?? calls?.[0]?.id,
  )
}

const LONG_ID = `toolu_${'x'.repeat(35)}`

describe('the id of a call', () => {
  it('is left alone up to forty characters, and shortened beyond, in calls and results alike', () => {
    const turns = turnsOf('c1', 'x'.repeat(40), LONG_ID, `${LONG_ID}y`)
    const ids = idsOf(turns)
    expect(ids.slice(0, 4)).toEqual(['c1', 'c1', 'x'.repeat(40), 'x'.repeat(40)])
    const [call, result, other, otherResult] = ids.slice(4)
    expect(call!.length).toBeLessThanOrEqual(40)
    expect([result, otherResult]).toEqual([call, other])
    expect(other).not.toBe(call!)
    expect(idsOf(turns)).toEqual(ids)
  })

  it('has nine letters and digits for who demands them, and stays as it is where it has', () => {
    const ids = idsOf(turnsOf('AbC123xyz', 'call_0819', 'a', '', LONG_ID, 'abc-12345'), {
      callIds: 'nine',
    })
    expect(ids.slice(0, 2)).toEqual(['AbC123xyz', 'AbC123xyz'])
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
    expect(new Set(ids).size).toBe(6)
    for (let at = 0; at < ids.length; at += 2) expect(ids[at + 1]).toBe(ids[at])
  })

  it('is said of an image as it was sent, and finds by its own what its maker wants back', () => {
    const calls = { [LONG_ID]: { google: { thought_signature: 'S' } } }
    const seal = { data: JSON.stringify({ calls }), supplier: 'acme' }
    const image = { kind: 'image', source: { kind: 'url', url: 'https://a.test/b.png' } } as const
    const { messages } = encode({
      turns: [
        {
          role: 'assistant',
          parts: [
            { kind: 'thinking', text: '', seal },
            { kind: 'call', id: LONG_ID, name: 'look', input: '{}' },
          ],
        },
        {
          role: 'user',
          parts: [{ kind: 'result', id: LONG_ID, parts: [image], isError: false }],
        },
      ],
    })
    const id = messages[0]!.tool_calls![0]!.id
    expect(messages[0]).toMatchObject({ tool_calls: [{ id, extra_content: calls[LONG_ID]! }] })
    expect(messages[2]).toMatchObject({
      content: [{ type: 'text', text: `[image of tool result ${id}]` }, { type: 'image_url' }],
    })
  })
})

const LONG_NAME = 'mcp__plugin_a-long-plugin_and-its-server__find_all_of_the_open_tickets'
const SCHEMA = { type: 'object', properties: {} }

describe('the name of a tool', () => {
  it('is shortened beyond sixty-four characters, wherever it stands, and can be had back', () => {
    const twin = `${LONG_NAME}_of_mine`
    const fitting = 'x'.repeat(64)
    const tools = [LONG_NAME, twin, fitting].map((name): Tool => ({ name, schema: SCHEMA }))
    const call = { kind: 'call', id: 'c1', name: LONG_NAME, input: '{}' } as const
    const sent = encode({
      tools,
      toolChoice: { mode: 'named', name: LONG_NAME },
      turns: [{ role: 'assistant', parts: [call] }],
    })
    const [short, other, same] = sent.tools.map((tool) => tool.function.name)
    expect(short).toStartWith('mcp__plugin_a-long-plugin_and-its-server__find')
    expect(short).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(other).not.toBe(short!)
    expect(same).toBe(fitting)
    expect(sent.tool_choice.function.name).toBe(short!)
    expect(sent.messages[0]!.tool_calls![0]!.function.name).toBe(short!)
    expect([...(sent.names ?? [])]).toEqual([
      [short!, LONG_NAME],
      [other!, twin],
    ])
    expect(sent.lost).toEqual([])
  })
})

describe('what a call was made with', () => {
  it.each([
    ['', '{}'],
    ['{"a":1}', '{"a":1}'],
    ['not JSON', 'not JSON'],
  ])('is said as it was written, and %j as %j', (input, said) => {
    const call = { kind: 'call', id: 'c1', name: 'look', input } as const
    const { messages } = encode({ turns: [{ role: 'assistant', parts: [call] }] })
    expect(messages[0]!.tool_calls![0]!.function.arguments).toBe(said)
  })
})

describe('a strict tool', () => {
  const closed = { ...SCHEMA, additionalProperties: false }

  it.each<readonly [boolean | undefined, unknown, boolean | undefined, readonly string[]]>([
    [true, closed, true, []],
    [true, SCHEMA, false, ['tool_strict']],
    [true, { ...closed, properties: { a: {} } }, false, ['tool_strict']],
    [true, { ...closed, properties: { a: SCHEMA }, required: ['a'] }, false, ['tool_strict']],
    [true, {}, false, ['tool_strict']],
    [false, SCHEMA, false, []],
    [undefined, SCHEMA, undefined, []],
  ])(
    'is one only where its schema leaves nothing open: %p with %j',
    (isStrict, schema, said, lost) => {
      const tool: Tool = { name: 'look', schema, ...(isStrict !== undefined && { isStrict }) }
      const sent = encode({ tools: [tool] })
      expect(sent.tools[0]!.function.strict).toBe(said as never)
      expect(sent.lost).toEqual(lost as never)
    },
  )
})

describe('a supplier that is strict about who speaks behind whom', () => {
  const said = (text: string) => ({ kind: 'text', text }) as const
  const [called, came] = turnsOf('c1')
  const turns: readonly Turn[] = [
    called!,
    { role: 'user', parts: [...came!.parts, said('go on')] } as Turn,
    { role: 'assistant', parts: [said('yes')] },
    { role: 'system', parts: [said('be brief'), said('be kind')] },
    ...turnsOf('c2'),
    { role: 'system', parts: [said('remember')] },
    ...turnsOf('c3'),
    { role: 'assistant', parts: [said('done')] },
  ]
  const system = [said('all along')]

  it('hears the model behind results, and a user in place of the system', () => {
    const { messages, lost } = encode({ system, turns }, { strictOrder: true })
    expect(messages.map(({ role }) => role).join(' ')).toBe(
      'system assistant tool assistant user assistant user assistant tool assistant user assistant tool assistant',
    )
    expect(messages[3]!.content).toBe('Noted.')
    expect(messages[6]!.content).toBe('<system>\nbe brief\nbe kind\n</system>')
    expect(messages[10]!.content).toBe('<system>\nremember\n</system>')
    expect(lost).toEqual([])
  })

  it('is the only one', () => {
    const { messages } = encode({ system, turns })
    expect(messages.map(({ role }) => role).join(' ')).toBe(
      'system assistant tool user assistant system assistant tool system assistant tool assistant',
    )
  })
})
