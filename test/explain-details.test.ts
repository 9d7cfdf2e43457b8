// What an explanation says of the session and of the budget, held against what the calls before have made of them; and
// of calls that are no chats.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BODY, EXACT, openScene, SECOND, type Scene } from './fakes/fault.ts'
import { formOf, transcribe } from './fakes/forms.ts'
import { ROOT_KEY } from './fakes/gateway.ts'
import { dataOf } from './fakes/records.ts'
import { closeStreet, good, refuse } from './fakes/street.ts'
import { openWorkshop, PATHS } from './fakes/tasks.ts'
import type { Json } from './fakes/tenants.ts'
import { tell } from './fakes/terminal.ts'

afterEach(closeStreet)

const MINE = { 'x-session-id': 'mine' }

async function explain({ gateway, key }: Scene, question: object): Promise<Json> {
  const asked = { key_id: key.id, request: BODY, ...question }
  const response = await gateway.manage('POST', '/explain', asked)
  expect(response.status).toBe(200)
  return (await response.json()) as Json
}

describe('the session of an explanation', () => {
  it.each<readonly [source: string, question: Json]>([
    ['header', { session_id: 'mine', request: { ...BODY, metadata: { session_id: 'other' } } }],
    ['metadata', { request: { ...BODY, metadata: { session_id: 'x' }, prompt_cache_key: 'y' } }],
    ['program', { request: { ...BODY, prompt_cache_key: 'y' } }],
    ['program', { request: { ...BODY, metadata: { user_id: '{"session_id":"z"}' } } }],
    ['inferred', { request: { ...BODY, metadata: { user_id: 'nobody' } } }],
    ['inferred', {}],
  ])('is known by its %s: %j', async (source, question) => {
    const scene = await openScene([good, good])
    expect((await explain(scene, question))['session']).toMatchObject({ source, state: 'new' })
  })

  it('is new, then kept, and would move where whoever has it cannot be asked', async () => {
    const question = { session_id: 'mine' }
    const scene = await openScene([
      (request, reply, index) =>
        (index === 0 ? good : refuse(429, {}, { 'retry-after': '5' }))(request, reply, index),
      good,
    ])
    const session = async (): Promise<unknown> => (await explain(scene, question))['session']
    expect(await session()).toEqual({ source: 'header', state: 'new', pinned_to: null })
    await (await scene.ask(BODY, MINE)).text()
    expect(await session()).toEqual({ source: 'header', state: 'kept', pinned_to: 'fake' })
    // By a call of another session, so that this one is still where it was.
    await (await scene.ask(BODY, { 'x-session-id': 'other' })).text()
    expect(await session()).toEqual({ source: 'header', state: 'moved', pinned_to: 'fake' })
    scene.clock.advance(5 * SECOND)
    expect(await session()).toMatchObject({ state: 'kept' })
  })

  it('is told at the terminal with what names it', async () => {
    const { gateway } = await openScene([good, good])
    const file = join(dataOf(gateway), 'request.json')
    writeFileSync(file, JSON.stringify({ ...BODY, prompt_cache_key: 'y' }))
    const environment = { GATEWAY_KEY: ROOT_KEY, GATEWAY_URL: gateway.url }
    const { code, out } = await tell(['explain', '--file', file], { environment })
    expect(code).toBe(0)
    expect(out).toContain('new, by what its program sends')
  })
})

it('the record of a call says that everybody rested who was on its list, and only then', async () => {
  const scene = await openScene([refuse(500, { message: 'no' })])
  const told: unknown[] = []
  for (let call = 0; call < 6; call++) {
    const response = await scene.ask()
    const id = response.headers.get('x-request-id')
    const record = (await (await scene.gateway.manage('GET', `/calls/${id}`)).json()) as Json
    told.push((record['route'] as Json)['last_resort'])
  }
  expect(told).toEqual([false, false, false, false, false, true])
})

it('the budget of an explanation is less by what was paid, and once more by what would be held', async () => {
  const scene = await openScene([good])
  await (await scene.ask()).text()
  const { budget, held_usd: held } = (await explain(scene, {}))['money'] as Json
  const left = 1 - EXACT / 1e9
  expect(budget).toMatchObject({ limit_usd: 1, used_usd: EXACT / 1e9, held_usd: 0, left_usd: left })
  expect(Number(held)).toBeGreaterThan(0)
  expect((budget as Json)['after_usd']).toBeCloseTo(left - Number(held), 9)
})

describe('an explanation of a call that is no chat', () => {
  it.each([
    ['/v1/embeddings', 'test-embed', { input: 0.02, output: 0 }],
    ['/v1/rerank', 'test-rank', { search: 2 }],
    ['/v2/rerank', 'test-rank', { search: 2 }],
    ['/v1/audio/speech', 'test-speak', { character: 15 }],
    ['/v1/audio/transcriptions', 'test-hear', { minute: 0.006 }],
  ])('is had at the terminal for %s, with its price', async (endpoint, model, price) => {
    const { gateway, supplier } = await openWorkshop()
    const environment = { GATEWAY_KEY: ROOT_KEY, GATEWAY_URL: gateway.url }
    const line = ['explain', '--model', model, '--endpoint', endpoint]
    const { code, out } = await tell([...line, '--json'], { environment })
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ verdict: 'would_be_sent', candidates: [{ price }] })
    expect((await tell([...line, '--tokens', '9'])).err).toContain('--tokens is about answers')
    expect(supplier.requests).toHaveLength(0)
  })

  it('is what a transcription then meets, by how long it plays', async () => {
    const { gateway } = await openWorkshop()
    const request = { model: 'test-hear', language: 'en', seconds: 2 }
    const question = { endpoint: PATHS.hear, request }
    const told = (await (await gateway.manage('POST', '/explain', question)).json()) as Json
    expect(told).toMatchObject({ verdict: 'would_be_sent', money: { held_usd: 0.0002 } })
    const form = formOf([
      ['model', 'test-hear'],
      ['language', 'en'],
    ])
    const response = await transcribe(gateway, form)
    const found = await gateway.manage('GET', `/calls/${response.headers.get('x-request-id')}`)
    expect(await found.json()).toMatchObject({ held_usd: 0.0002 })
  })

  it.each([
    ['no length', {}, 'seconds'],
    ['a length of nothing', { seconds: 0 }, 'seconds'],
    ['a part of a second', { seconds: 1.5 }, 'seconds'],
    ['a language that is none', { seconds: 1, language: 'english' }, 'language'],
    ['two models', { seconds: 1, model: ['test-hear', 'test-model'] }, 'model'],
    ['an object for a text', { seconds: 1, prompt: {} }, 'prompt'],
  ])('is refused for a transcription with %s', async (_, fields, param) => {
    const { gateway } = await openWorkshop()
    const request = { model: 'test-hear', ...fields }
    const response = await gateway.manage('POST', '/explain', { endpoint: PATHS.hear, request })
    const { error } = (await response.json()) as { readonly error: Json }
    expect([response.status, error['param']]).toEqual([400, param])
  })
})
