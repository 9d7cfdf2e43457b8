// The demo supplier of native agents, seen from outside: what it answers to a sign-in, and how it fails on purpose.
import { afterAll, describe, expect, it } from 'bun:test'
import { createHash } from 'node:crypto'
import { startDemoSuppliers } from './index.ts'

const demo = startDemoSuppliers()
afterAll(() => demo.stop())

const native = demo.suppliers.find(({ oauth }) => oauth !== undefined)!
const oauth = native.oauth!

type Fields = Readonly<Record<string, unknown>>

interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
}

const verifier = 'v'.repeat(43)

/** As its data say that one signs in. */
async function signIn(): Promise<Tokens> {
  const redirect = 'http://127.0.0.1:4711/callback'
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: oauth.clientId!,
    redirect_uri: redirect,
    scope: oauth.scope!,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const back = await fetch(`${oauth.authorizeUrl}?${query.toString()}`, { redirect: 'manual' })
  const code = new URL(back.headers.get('location')!).searchParams.get('code')!
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirect }
  const answer = await ask({ ...fields, code_verifier: verifier })
  return (await answer.json()) as Tokens
}

function ask(fields: Readonly<Record<string, string>>): Promise<Response> {
  const body = new URLSearchParams({ client_id: oauth.clientId!, ...fields })
  return fetch(oauth.tokenUrl, { method: 'POST', body })
}

function renew({ refresh_token }: Tokens): Promise<Response> {
  return ask({ grant_type: 'refresh_token', refresh_token })
}

const HELLO = [{ role: 'user', content: [{ type: 'input_text', text: 'Hello there, you' }] }]

function send(token: string, fields: Fields = {}, headers: object = {}): Promise<Response> {
  return fetch(native.origin + native.services[0]!.path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...headers },
    body: JSON.stringify({ model: 'native', stream: true, input: HELLO, ...fields }),
  })
}

async function expectRefusal(response: Response, status: number, code: string): Promise<void> {
  const { error } = (await response.json()) as { readonly error: Fields }
  expect([response.status, error['code']]).toEqual([status, code])
}

describe('the native supplier of the demo', () => {
  it('serves models that no other one serves, by sign-ins alone', () => {
    const others = demo.suppliers.filter((supplier) => supplier !== native)
    expect(others.map(({ id }) => id)).toEqual(['demo', 'demo-backup'])
    expect(native).toMatchObject({ id: 'demo-native', region: 'EU', credential: undefined })
    expect([...native.models.keys()]).toContain('demo/native')
    for (const id of native.models.keys()) {
      expect(id).toStartWith('demo/native')
      for (const { models } of others) expect(models.has(id)).toBe(false)
    }
    for (const { models } of others) expect(models.has('demo/chat')).toBe(true)
  })

  it('answers a stream with what it used', async () => {
    const response = await send((await signIn()).access_token)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const text = await response.text()
    expect(text).toContain('event: response.created')
    expect(text).toContain('You said: \\"Hello there, you\\"')
    expect(text).toMatch(/event: response\.completed\n.*"total_tokens":\d+/)
  })

  it('thinks where its model does, and calls a tool that is named', async () => {
    const { access_token } = await signIn()
    const thinking = await send(access_token, { model: 'native-reason' })
    expect(await thinking.text()).toContain('response.reasoning_summary_text.delta')
    const parameters = { type: 'object', properties: {} }
    const tools = [{ type: 'function', name: 'there', parameters }, { type: 'web_search' }]
    expect(await (await send(access_token, { tools })).text()).toContain('"function_call"')
  })

  it.each<readonly [Fields, number, string]>([
    [{ stream: false }, 400, 'invalid_value'],
    [{ stream: undefined }, 400, 'invalid_value'],
    [{ input: 'Hello' }, 400, 'invalid_value'],
    [{ input: [] }, 400, 'missing_required_parameter'],
    [{ model: 'responses' }, 404, 'model_not_found'],
    [{ model: 'other' }, 404, 'model_not_found'],
  ])('refuses %j', async (fields, status, code) => {
    await expectRefusal(await send((await signIn()).access_token, fields), status, code)
  })

  it('wants a token, and no other account named than that of the token', async () => {
    const { access_token } = await signIn()
    const name = oauth.subjectHeader!
    await expectRefusal(await send('wrong'), 401, 'invalid_token')
    await expectRefusal(await send('', {}, { authorization: 'Basic x' }), 401, 'invalid_token')
    const other = await send(access_token, {}, { [name]: 'another' })
    await expectRefusal(other, 403, 'account_mismatch')
    const { sub } = JSON.parse(Buffer.from(access_token.split('.')[1]!, 'base64url').toString())
    expect((await send(access_token, {}, { [name]: sub })).status).toBe(200)
  })
})

describe('its models that fail', () => {
  it('break off', async () => {
    const { access_token } = await signIn()
    const cut = await send(access_token, { model: 'native-cut-stream' })
    expect(cut.status).toBe(200)
    expect(await cut.text().catch(() => 'broken')).toBe('broken')
    const text = await (await send(access_token, { model: 'native-error-mid-stream' })).text()
    expect(text).toContain('response.output_text.delta')
    expect(text).toContain('event: error')
    expect(text).not.toContain('response.completed')
  })

  it('call a token expired until it is renewed', async () => {
    let tokens = await signIn()
    for (const turn of [1, 2]) {
      for (const again of [1, 2]) {
        const refused = await send(tokens.access_token, { model: 'native-expired' })
        await expectRefusal(refused, 401, 'token_expired')
        expect([turn, again, (await send(tokens.access_token)).status]).toEqual([turn, again, 200])
      }
      tokens = (await (await renew(tokens)).json()) as Tokens
      const model = 'native-expired'
      expect((await send(tokens.access_token, { model })).status).toBe(200)
      expect((await send(tokens.access_token, { model })).status).toBe(200)
      tokens = (await (await renew(tokens)).json()) as Tokens
    }
  })

  it('have reached the limit of a plan, and say when it is over', async () => {
    const response = await send((await signIn()).access_token, { model: 'native-limited' })
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({
      error: {
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        resets_in_seconds: 30,
      },
    })
    const told = Object.entries(response.headers.toJSON()).filter(([name]) => name.startsWith('x-'))
    expect(Object.fromEntries(told)).toEqual({
      'x-codex-primary-used-percent': '100',
      'x-codex-primary-window-minutes': '300',
      'x-codex-primary-reset-after-seconds': '30',
    })
  })

  it('have a sign-in renewed no more, whose token works elsewhere until it ends', async () => {
    const [tokens, other] = [await signIn(), await signIn()]
    expect((await renew(tokens)).status).toBe(200)
    const refused = await send(tokens.access_token, { model: 'native-revoked' })
    await expectRefusal(refused, 401, 'token_revoked')
    const renewal = await renew(tokens)
    expect([renewal.status, await renewal.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    expect((await send(tokens.access_token)).status).toBe(200)
    expect((await renew(other)).status).toBe(200)
  })
})
