// What an operator hears of suppliers that fail: once, with what to check, and not once for every call.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { GatewayError } from '../core/problem.ts'
import { createLog } from './log.ts'
import { Trouble } from './trouble.ts'

function openTrouble() {
  let text = ''
  const clock = createFakeClock()
  const log = createLog({ write: (more) => (text += more), now: () => 0, isTerminal: true })
  const lines = (): readonly string[] => {
    log.flush()
    return text.split('\n').slice(0, -1)
  }
  return { clock, trouble: new Trouble(log, clock), lines }
}

const DOWN = new GatewayError('upstream_unavailable', 'The supplier could not be reached.')
const REFUSED = new GatewayError('invalid_api_key', 'Incorrect API key provided: sk-12', {
  status: 401,
  origin: { code: 'invalid_api_key' },
})

describe('trouble with the books', () => {
  it('is told once a minute of each cause, however many calls fail of it', () => {
    const { clock, trouble, lines } = openTrouble()
    for (const id of ['req_1', 'req_2', 'req_3'])
      trouble.unbooked(id, 'billing_unavailable', 'disk full')
    trouble.unbooked('req_4', 'billing_unavailable', 'locked')
    clock.advance(60_000)
    trouble.unbooked('req_5', 'billing_unavailable', 'disk full')
    expect(lines()).toEqual([
      'error: billing_unavailable',
      'error: billing_unavailable',
      'error: billing_unavailable (2 more since the last line)',
    ])
  })
})

describe('trouble with a supplier', () => {
  it('is told once a minute, with how often it came', () => {
    const { clock, trouble, lines } = openTrouble()
    for (let count = 0; count < 5; count++) trouble.failed('rack', DOWN)
    trouble.failed('other', DOWN)
    clock.advance(60_000)
    trouble.failed('rack', DOWN)
    expect(lines()).toEqual([
      'warn: supplier rack: The supplier could not be reached.',
      'warn: supplier other: The supplier could not be reached.',
      'warn: supplier rack: The supplier could not be reached. (4 more since the last line)',
    ])
  })

  it('says what to check and nothing of what the supplier said', () => {
    const { trouble, lines } = openTrouble()
    trouble.failed('rack', REFUSED)
    expect(lines()).toEqual(['warn: supplier rack: it answered 401. Check its credential.'])
  })

  it('with a sign-in says what its people have to do, and has nobody check a credential', () => {
    const { trouble, lines } = openTrouble()
    trouble.failed('rack', new GatewayError('native_token_error', 'Sign in again.'))
    expect(lines()).toEqual(['warn: supplier rack: Sign in again.'])
  })

  it('that concerns a usage is told once a minute, too', () => {
    const { trouble, lines } = openTrouble()
    for (let count = 0; count < 5; count++) trouble.unread('rack', 'model')
    expect(lines()).toEqual(['warn: supplier rack: it told a usage of model that cannot be read.'])
  })
})
