// The demo supplier's streams: every chunk is well-formed, and together they say what the unary answer
// says.
import { afterAll, expect, test } from 'bun:test'
import { startDemo } from './server.ts'
import {
  createClient,
  CREDENTIAL,
  deltasOf,
  textOf,
  TOOLS,
  user,
} from '../../../test/fakes/demo-client.ts'

const demo = startDemo({ name: 'demo', credential: CREDENTIAL })
const { complete, stream } = createClient(demo)

afterAll(() => demo.stop())

const LONG = 'Reply with exactly: one two three  four\nfive 🙂 six grüße '

test('streams what the unary answer says', async () => {
  const bodies = [
    user(LONG),
    user('hello there'),
    { ...user(LONG), max_tokens: 3 },
    { ...user(LONG), stop: 'four' },
    { ...user('hi'), response_format: { type: 'json_object' } },
    { ...user('hi'), model: 'maximal', max_tokens: 50 },
    { ...user('Reply with exactly: '), model: 'reason' },
  ]
  for (const body of bodies) {
    const [choice] = (await complete(body)).choices
    const chunks = await stream(body)
    expect(textOf(deltasOf(chunks))).toBe(choice?.message.content ?? '-')
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe(choice?.finish_reason ?? '-')
  }
})

test('gives every chunk the whole shape', async () => {
  const chunks = await stream(user(LONG))
  expect(chunks.length).toBeGreaterThan(5)
  const [first] = chunks
  expect(first?.choices[0]?.delta).toMatchObject({ role: 'assistant', content: '' })
  for (const chunk of chunks) {
    expect(chunk).toMatchObject({ object: 'chat.completion.chunk', model: 'chat' })
    expect(chunk.id).toBe(first?.id ?? '-')
    expect(chunk.created).toBe(first?.created ?? -1)
    expect(chunk.choices.map((choice) => choice.index)).toEqual([0])
    expect(chunk).not.toHaveProperty('usage')
  }
  const finishes = chunks.map((chunk) => chunk.choices[0]?.finish_reason)
  expect(finishes.filter((reason) => reason !== null)).toEqual(['stop'])
  expect(finishes.at(-1)).toBe('stop')
})

test('sends one or two words at a time', async () => {
  const pieces = deltasOf(await stream(user(LONG))).map((delta) => delta.content ?? '')
  for (const piece of pieces) expect(piece.trim().split(/\s+/).length).toBeLessThanOrEqual(2)
})

test('reports usage last, and only when asked', async () => {
  const body = { ...user(LONG), model: 'reason' }
  const chunks = await stream({ ...body, stream_options: { include_usage: true } })
  const { usage } = await complete(body)
  expect(chunks.at(-1)?.choices).toEqual([])
  expect(chunks.at(-1)?.usage).toEqual(usage)
  expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop')
  for (const chunk of chunks.slice(0, -1)) expect(chunk.usage).toBeNull()
  const quiet = await stream({ ...body, stream_options: { include_usage: false } })
  expect(quiet.filter((chunk) => 'usage' in chunk)).toEqual([])
})

test('streams reasoning before the text', async () => {
  const deltas = deltasOf(await stream({ ...user(LONG), model: 'reason' }))
  const kinds = deltas.map((delta) => ('reasoning_content' in delta ? 'reasoning' : 'other'))
  expect(kinds.lastIndexOf('reasoning')).toBeGreaterThan(1)
  expect(kinds.slice(1, kinds.lastIndexOf('reasoning') + 1)).not.toContain('other')
  const { choices } = await complete({ ...user(LONG), model: 'reason' })
  const reasoning = deltas.map((delta) => delta.reasoning_content ?? '').join('')
  expect(reasoning).toBe(choices[0]?.message.reasoning_content ?? '-')
})

test('streams several choices in turn', async () => {
  const chunks = await stream({ ...user(LONG), n: 2 })
  const indexes = chunks.map((chunk) => chunk.choices[0]?.index)
  expect(indexes.slice(0, 4)).toEqual([0, 1, 0, 1])
  for (const index of [0, 1]) {
    const deltas = deltasOf(chunks, index)
    expect(deltas[0]?.role).toBe('assistant')
    expect(textOf(deltas)).toBe(LONG.slice('Reply with exactly: '.length))
  }
})

test('streams tool calls in fragments that carry their index', async () => {
  const body = { ...user('get_weather, get_time'), tools: TOOLS }
  const chunks = await stream(body)
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls')
  const calls = deltasOf(chunks).flatMap((delta) => delta.tool_calls ?? [])
  const unary = (await complete(body)).choices[0]?.message.tool_calls ?? []
  expect(unary).toHaveLength(2)
  for (const [index, whole] of unary.entries()) {
    const [first, ...fragments] = calls.filter((call) => call.index === index)
    expect(first).toMatchObject({ type: 'function', function: { arguments: '' } })
    expect(first?.function.name).toBe(whole.function.name ?? '-')
    expect(first?.id).toStartWith('call_')
    expect(fragments.length).toBeGreaterThan(1)
    for (const fragment of fragments) expect(fragment).not.toHaveProperty('id')
    const joined = fragments.map((fragment) => fragment.function.arguments).join('')
    expect(joined).toBe(whole.function.arguments)
  }
})
