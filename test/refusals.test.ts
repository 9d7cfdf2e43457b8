// What is refused before any supplier hears of it, each with words that say what to do instead.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO, ROOT_KEY } from './fakes/gateway.ts'
import { closeStreet, good, openStreet, type ErrorBody } from './fakes/street.ts'

afterEach(closeStreet)

async function errorOf(response: Response): Promise<ErrorBody['error'] & { param?: string }> {
  const { error } = (await response.json()) as ErrorBody
  return error
}

function withMessages(messages: string): string {
  return `{"model":"test-model","messages":[${messages}]}`
}

describe('a body of hundreds of thousands of tiny items', () => {
  it.each([
    ['{}', 'items'],
    ['0', 'items'],
    ['[]', 'items'],
    ['{"role":"user","content":"x"}', 'members'],
  ])('is one refusal: %s', async (item, what) => {
    const { gateway, suppliers } = await openStreet([good])
    const response = await gateway.chat(withMessages(Array(300_000).fill(item).join()))
    expect(response.status).toBe(400)
    const error = await errorOf(response)
    expect(error.code).toBe('validation_error')
    expect(error.human_message).toContain(`more than 250000 ${what}`)
    expect(suppliers[0]!.connections()).toBe(0)
  })

  it('is one refusal where the items are spread over many arrays', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const lists = Array(300)
      .fill(`[${Array(1000).fill('0').join()}]`)
      .join()
    const response = await gateway.chat({ ...HELLO, unknown: JSON.parse(`[${lists}]`) as unknown })
    expect(response.status).toBe(400)
    expect((await errorOf(response)).code).toBe('validation_error')
    expect(suppliers[0]!.connections()).toBe(0)
  })

  it.each([
    [withMessages(Array(100_000).fill('{}').join()), 'messages[0].role'],
    [withMessages('{"role":"user","content":"x"},{"role":"king"},7'), 'messages[1].role'],
    [withMessages('{"role":"user","content":[{"type":"text"},1,2]},{}'), 'messages[0].content[1]'],
    ['{"n":0,"messages":[{}],"model":7}', 'n'],
  ])('is told the first of its faults', async (body, param) => {
    const { gateway, suppliers } = await openStreet([good])
    const response = await gateway.chat(body)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ code: 'validation_error', param })
    expect(suppliers[0]!.connections()).toBe(0)
  })
})

describe('a field that would have a supplier run something else', () => {
  it.each([
    ['models', ['other-model']],
    ['models', []],
    ['route', 'fallback'],
    ['fallbacks', [{ model: 'other-model' }]],
    ['service_tier', 'priority'],
    ['service_tier', 'flex'],
  ])('is refused: %s as %j', async (field, value) => {
    const { gateway, suppliers } = await openStreet([good])
    for (const stream of [false, true]) {
      const response = await gateway.chat({ ...HELLO, stream, [field]: value })
      expect(response.status).toBe(400)
      expect(await errorOf(response)).toMatchObject({
        code: 'unsupported_parameter',
        param: field,
        retryable: false,
      })
    }
    expect(suppliers[0]!.connections()).toBe(0)
  })

  it.each([
    ['service_tier', 'auto'],
    ['service_tier', 'default'],
    ['service_tier', null],
    ['models', null],
    ['route', null],
    ['fallbacks', null],
  ])('passes as it is where it changes nothing: %s as %j', async (field, value) => {
    const { gateway, suppliers } = await openStreet([good])
    expect((await gateway.chat({ ...HELLO, [field]: value })).status).toBe(200)
    const { body } = await suppliers[0]!.request(0)
    expect(JSON.parse(body.toString())).toMatchObject({ [field]: value })
  })
})

describe('a slip of the first hour', () => {
  it('with the scheme of the credential is told how to send it', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const response = await gateway.chat(HELLO, { headers: { authorization: ROOT_KEY } })
    expect(response.status).toBe(401)
    const error = await errorOf(response)
    expect(error.code).toBe('invalid_api_key')
    expect(error.human_message).toContain('Authorization: Bearer <key>')
    expect(JSON.stringify(error)).not.toContain(ROOT_KEY)
    expect(suppliers[0]!.connections()).toBe(0)
  })

  it.each(['/chat/completions', '/v1/chat/completions/'])(
    'with the path is told the right one: %s',
    async (path) => {
      const { gateway, suppliers } = await openStreet([good])
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(HELLO),
      })
      expect(response.status).toBe(404)
      const error = await errorOf(response)
      expect(error.code).toBe('not_found')
      expect(error.human_message).toContain('Use /v1/chat/completions.')
      expect(suppliers[0]!.connections()).toBe(0)
    },
  )
})
