// Faults of our own in a codec: the call ends as one, nobody is blamed for it, and nobody else is asked to make up for it.
import { afterEach, expect, it } from 'bun:test'
import type { Codec } from '../src/dialects/codec.ts'
import { openaiChat } from '../src/dialects/openai-chat/index.ts'
import { ask, closeHouses, GOOD, house } from './fakes/languages.ts'

afterEach(closeHouses)

const { codec } = openaiChat
const fail = (): never => {
  throw new TypeError('a mistake')
}
const BROKEN: Readonly<Record<string, Codec>> = {
  'a request': { ...codec!, request: { ...codec!.request, encode: fail } },
  'an answer': { ...codec!, response: { ...codec!.response, decode: fail } },
}

it.each([
  ['a request', 'tell', 0],
  ['a request', 'refuse', 0],
  ['an answer', 'tell', 1],
])('in putting %s into words end the call (losses: %s)', async (what, losses, asked) => {
  const dialect = { ...openaiChat, codec: BROKEN[what]! }
  const services = [{ dialect, path: '/v1/chat/completions' }]
  const { gateway, suppliers } = await house(
    [
      ['chat', GOOD.chat],
      ['chat', GOOD.chat],
    ],
    { changes: { services }, config: `conversion: { losses: ${losses} }\n` },
  )
  const response = await ask(gateway, 'messages')
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } })
  expect(suppliers.map(({ requests }) => requests.length)).toEqual([asked, 0])
  const told = (await (await gateway.manage('GET', '/suppliers')).json()) as object
  expect(JSON.stringify(told)).not.toContain('"resting"')
  // Refusals are written a moment later.
  await gateway.drain()
  expect(gateway.audit().map(({ attempts }) => attempts <= 1)).toEqual([true])
})
