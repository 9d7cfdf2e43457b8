// How streams of responses end where that is not plain: the reason to stop comes with the usage, and last of all.
import { afterEach, expect, it } from 'bun:test'
import { closeHouses, GOOD, house, streamed } from './fakes/languages.ts'
import {
  completed,
  HELLO_RESPONSES,
  postResponses,
  PREAMBLE,
  printEvents,
} from './fakes/response-supplier.ts'

afterEach(closeHouses)

const STREAM = { ...HELLO_RESPONSES, stream: true }

it('asks the next supplier where an answer is completed by an error', async () => {
  const failed = completed([], { status: 'failed', error: { code: 'server_error', message: 'no' } })
  const { gateway } = await house([
    ['responses', streamed(printEvents([...PREAMBLE, failed]))],
    ['responses', GOOD.responses],
  ])
  const asked = await postResponses(gateway, STREAM)
  expect(asked.headers.get('x-svc-failover')).toBe('true')
  await asked.arrayBuffer()
})
