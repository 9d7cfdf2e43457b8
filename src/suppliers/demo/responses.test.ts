// The demo supplier in the responses language, seen from outside: its items and its events say the same.
import { afterAll, describe, expect, it } from 'bun:test'
import { CREDENTIAL } from '../../../test/fakes/demo-client.ts'
import { startDemo } from './server.ts'

const demo = startDemo({ name: 'demo', credential: CREDENTIAL })
afterAll(() => demo.stop())

type Fields = Readonly<Record<string, unknown>>

function send(body: object): Promise<Response> {
  return fetch(`${demo.origin}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${CREDENTIAL}` },
    body: JSON.stringify({ model: 'responses', ...body }),
  })
}

async function answer(body: object): Promise<Fields> {
  const response = await send(body)
  expect(response.status).toBe(200)
  return (await response.json()) as Fields
}

async function stream(body: object): Promise<readonly Fields[]> {
  const text = await (await send({ ...body, stream: true })).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as Fields)
}

function outputOf({ output }: Fields): readonly Fields[] {
  return output as readonly Fields[]
}

function textOf(response: Fields): string {
  const item = outputOf(response).find(({ type }) => type === 'message')!
  return String((item['content'] as readonly Fields[])[0]?.['text'])
}

const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const tools = [{ type: 'function', name: 'weather', parameters }]

describe('responses of the demo', () => {
  it('answer a text and a list alike, with what they used', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }]
    expect(textOf(await answer({ input }))).toBe(textOf(await answer({ input: 'Hello' })))
    expect(await answer({ input: 'Hello', instructions: 'Be brief.' })).toMatchObject({
      object: 'response',
      status: 'completed',
      usage: { input_tokens: 12, total_tokens: expect.any(Number) },
    })
  })

  it('are numbered on a stream, which says what the whole answer says', async () => {
    for (const body of [
      { input: 'Hello there, you' },
      { input: 'Ask weather', tools, model: 'responses-reason' },
      { input: 'Hello there', max_output_tokens: 3 },
    ]) {
      const events = await stream(body)
      expect(events.map((event) => event['sequence_number'])).toEqual([...events.keys()])
      const { status, output, usage } = events.at(-1)!['response'] as Fields
      const whole = await answer(body)
      const kinds = outputOf(whole).map(({ type }) => type)
      expect(outputOf({ output }).map(({ type }) => type)).toEqual(kinds)
      expect([status, usage]).toEqual([whole['status'], whole['usage']])
      const pieces = events.flatMap(({ delta }) => (typeof delta === 'string' ? [delta] : []))
      expect(pieces.length).toBeGreaterThan(0)
    }
  })

  it('call a tool that is named, and quote what it has found', async () => {
    const called = await answer({ input: 'Ask weather', tools })
    const [call] = outputOf(called)
    expect(call).toMatchObject({ type: 'function_call', name: 'weather' })
    const found = { type: 'function_call_output', call_id: call?.['call_id'], output: 'sunny' }
    const input = [{ role: 'user', content: 'Ask weather' }, call, found]
    expect(textOf(await answer({ input, tools }))).toContain('"sunny"')
    const forced = { tool_choice: { type: 'function', name: 'weather' } }
    expect(outputOf(await answer({ input: 'Hi', tools, ...forced }))).toMatchObject([
      { type: 'function_call' },
    ])
  })

  it('think where they are asked to, and keep to a form and to a limit', async () => {
    expect(outputOf(await answer({ input: 'Hi', reasoning: { effort: 'low' } }))).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text' }] },
      { type: 'message' },
    ])
    const format = { type: 'json_schema', name: 'a', schema: parameters }
    expect(JSON.parse(textOf(await answer({ input: 'Hi', text: { format } })))).toBeObject()
    expect(await answer({ input: 'Hi', max_output_tokens: 2 })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })

  it.each<readonly [object, number]>([
    [{}, 400],
    [{ input: [] }, 400],
    [{ input: [{ content: 'x' }] }, 400],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 404],
    [{ input: 'Hi', model: 'chat' }, 404],
  ])('are refused: %j', async (body, status) => {
    expect((await send(body)).status).toBe(status)
  })
})
