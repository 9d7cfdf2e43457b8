// What is the operator's alone is refused in every language that there is, also in one that comes later.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../core/problem.ts'
import { dialects } from './index.ts'

const REQUEST = {
  model: 'm',
  max_tokens: 5,
  messages: [{ role: 'user', content: 'Hello' }],
  input: [{ role: 'user', content: 'Hello' }],
  stream: true,
}

const REFUSED = [
  ['api_key', 'raw_secret_field_rejected'],
  ['base_url', 'raw_secret_field_rejected'],
  ['api_base', 'raw_secret_field_rejected'],
  ['custom_host', 'raw_secret_field_rejected'],
  ['models', 'unsupported_parameter'],
  ['route', 'unsupported_parameter'],
  ['fallbacks', 'unsupported_parameter'],
] as const

/** What is asked in texts. */
const TEXTS = { model: 'm', input: 'Hello', query: 'Who?', documents: ['Me'] }

// A form has fields of its own, which its own tests look at.
const asked = dialects.filter((dialect) => !('peekForm' in dialect))

describe.each(asked.map((dialect) => [dialect.id, dialect] as const))('%s', (_id, dialect) => {
  const request = dialect.task === undefined ? REQUEST : TEXTS
  const read = (body: object): unknown => {
    try {
      return dialect.peek(new TextEncoder().encode(JSON.stringify(body)))
    } catch (thrown) {
      return thrown
    }
  }

  it('takes a plain request', () => {
    expect(read(request)).toMatchObject({ model: 'm' })
  })

  it.each(REFUSED)('refuses `%s`, and says what to do', (param, code) => {
    const refusal = read({ ...request, [param]: 'x' })
    expect(refusal).toBeInstanceOf(GatewayError)
    expect(refusal).toMatchObject({ param, code })
    expect((refusal as GatewayError).message).toStartWith(`Remove \`${param}\``)
  })
})
