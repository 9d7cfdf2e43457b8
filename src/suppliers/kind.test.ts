// What a kind of supplier says of its services, as a supplier of that kind has it.
import { expect, it } from 'bun:test'
import { anthropicMessages } from '../dialects/anthropic-messages/index.ts'
import { toServices, type KindService } from './kind.ts'

const SERVICE: KindService = {
  dialect: anthropicMessages,
  path: '/v1/messages',
  signature: 'x-api-key',
  quirks: { usage: 'always' },
}
const COUNTING: KindService = { ...SERVICE, countPath: '/v1/messages/count_tokens' }

it('every address is below the prefix, also where tokens are counted', () => {
  const paths = { path: '/at/v1/messages', countPath: '/at/v1/messages/count_tokens' }
  const { services } = toServices([COUNTING, COUNTING], '/at')
  expect(services).toEqual([
    { dialect: anthropicMessages, ...paths },
    { ...COUNTING, ...paths },
  ])
})

it('one that does not count has no address for it', () => {
  const { services } = toServices([SERVICE, SERVICE])
  expect(services.map((service) => 'countPath' in service)).toEqual([false, false])
})
