// Codex finishes what it is asked for by a sign-in of the gateway's, and tells people what is wrong where it cannot. It
// is run as people run it; `npm run clients` installs it, and without it this part of the suite is left out with a word.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT_KEY, startGateway, type Gateway } from '../fakes/gateway.ts'
import { createToken, nativeSupplierAt } from '../fakes/native-supplier.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from '../fakes/supplier.ts'
import { findCodex, runCodex, type Settings } from './codex.ts'
import type { Run } from './claude-code.ts'
import { failHalfway, play, readAsked, type Answer, type Asked } from './stage.ts'

const program = findCodex()
const isRequired = process.env['GATEWAY_TEST_CLIENTS'] === 'required'
if (program === undefined && !isRequired)
  console.log('Codex is not installed, its tests are left out: `npm run clients` gets it.')

afterEach(closeStreet)

/** It is a program of a third of a gigabyte, and repeats what fails for some seconds. */
const PATIENCE_MS = 60_000

/** What is refused is not asked for again. */
const ONCE = ['-c', 'model_providers.gateway.stream_max_retries=0']

function codex(
  prompt: string,
  settings: Partial<Settings> & { readonly url: string },
): Promise<Run> {
  return runCodex(program!, prompt, { key: ROOT_KEY, model: 'native-model', ...settings })
}

interface Scene {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly token: string
  readonly asked: () => readonly Asked[]
}

/** A gateway in front of a native supplier whose model holds a million tokens; nobody is signed in there. */
async function openGateway(script: Script): Promise<Pick<Scene, 'gateway' | 'supplier'>> {
  const supplier = tidy(await startFakeSupplier(script))
  const described = nativeSupplierAt(supplier.origin)
  const limits = { contextWindow: 1_000_000, outputCeiling: 1000 }
  const models = new Map([...described.models].map(([id, route]) => [id, { ...route, limits }]))
  const gateway = tidy(await startGateway({ suppliers: [{ ...described, models }] }))
  return { gateway, supplier }
}

async function signIn(gateway: Gateway, tokens: object): Promise<void> {
  const identity = { name: 'mine', account_id: 'acct-1', ...tokens }
  const { status } = await gateway.manage('POST', '/native/identities', identity)
  expect(status).toBe(200)
}

/** The same, with somebody who is signed in. */
async function openScene(script: Script): Promise<Scene> {
  const { gateway, supplier } = await openGateway(script)
  const token = createToken('codex')
  await signIn(gateway, { supplier: 'native', access_token: token })
  const asked = (): readonly Asked[] =>
    supplier.requests.map((request) => readAsked('responses', request))
  return { gateway, supplier, token, asked }
}

const MODEL = 'gpt-5.6-terra'

/** The maker's own backend, were it at this address. */
function planAt(origin: string): string {
  return [
    'suppliers:',
    '  plans:',
    '    kind: codex',
    `    origin: ${origin}`,
    '    allow_private: true',
    '    billing: subscription',
    `    oauth: { token_url: "${origin}/oauth/token" }`,
    `    models: { ${MODEL}: }`,
  ].join('\n')
}

function statuses({ gateway }: Scene): readonly (readonly [number, string | null])[] {
  return gateway.audit().map(({ status, code }) => [status, code])
}

it.if(isRequired)('is installed where it has to be', () => {
  expect(program).toBeString()
})

describe.if(program !== undefined)('Codex', () => {
  it(
    'answers a prompt by the sign-in, with headers of its own and without the key of the gateway',
    async () => {
      const scene = await openScene(play('responses', () => 'Hello to you'))
      const { output, code } = await codex('Say hello', { url: scene.gateway.url })
      expect([output, code]).toEqual(['Hello to you', 0])
      const [first, ...others] = scene.asked()
      expect(others).toEqual([])
      expect(first).toMatchObject({ model: 'upstream-model', stream: true })
      expect(first!.tools).toContain('exec_command')
      const { head } = scene.supplier.requests[0]!
      expect(head).toMatch(/^originator: codex_exec\r?$/im)
      expect(head).toMatch(/^x-account: acct-1\r?$/im)
      // Compared apart, so that no failure would print it.
      expect(head.includes(`Bearer ${scene.token}`)).toBe(true)
      expect(head.includes(ROOT_KEY)).toBe(false)
      expect(scene.gateway.audit()).toMatchObject([
        { status: 200, supplier: 'native', stream: 1, input_tokens: 11, output_tokens: 7 },
      ])
    },
    PATIENCE_MS,
  )

  it(
    'is served by a plan as a file describes it, by a token that is renewed on the way',
    async () => {
      const [old, fresh] = [createToken('old'), createToken('fresh')]
      const good = play('responses', () => 'Hello to you')
      const supplier = tidy(
        await startFakeSupplier((request, reply, index) => {
          const { head } = request
          if (head.startsWith('POST /oauth/token ')) return reply.json(200, { access_token: fresh })
          if (head.includes(old)) return reply.json(401, { detail: 'Unauthorized' })
          return good(request, reply, index)
        }),
      )
      const gateway = tidy(await startGateway({ config: planAt(supplier.origin) }))
      await signIn(gateway, {
        supplier: 'plans',
        access_token: old,
        refresh_token: createToken('refresh'),
      })
      const { output, code } = await codex('Say hello', { url: gateway.url, model: MODEL })
      expect([output, code]).toEqual(['Hello to you', 0])
      const [refused, renewal, answered, ...others] = supplier.requests
      expect(others).toEqual([])
      expect([refused, answered].map((each) => each!.head.split(' HTTP')[0])).toEqual(
        [1, 2].map(() => 'POST /backend-api/codex/responses'),
      )
      expect(answered!.head).toMatch(/^chatgpt-account-id: acct-1\r?$/im)
      const { grant_type: grant, client_id: client } = JSON.parse(renewal!.body.toString()) as {
        readonly grant_type: string
        readonly client_id: string
      }
      expect([grant, client.startsWith('app_')]).toEqual(['refresh_token', true])
      expect(gateway.audit()).toMatchObject([{ status: 200, supplier: 'plans', cost: 0 }])
    },
    PATIENCE_MS,
  )

  it(
    'runs commands, and tells the model what came of them, turn by turn',
    async () => {
      const steps: readonly Answer[] = [
        { id: 'call_one', name: 'exec_command', input: { cmd: 'echo "4 * 4" = $((4 * 4))' } },
        { id: 'call_two', name: 'exec_command', input: { cmd: 'cat notes.txt' } },
      ]
      const plot = ({ results }: Asked): Answer =>
        steps[results.length] ?? `I know: ${results.map(({ text }) => text).join(' and ')}`
      const scene = await openScene(play('responses', plot))
      const { output, code } = await codex('Look around', {
        url: scene.gateway.url,
        prepare: ({ work }) => writeFileSync(join(work, 'notes.txt'), 'the cat is in'),
      })
      expect(code).toBe(0)
      expect(output).toContain('4 * 4 = 16')
      expect(output).toContain('the cat is in')
      expect(scene.asked().map(({ calls }) => calls)).toEqual([
        [],
        ['call_one'],
        ['call_one', 'call_two'],
      ])
      expect(statuses(scene)).toEqual([1, 2, 3].map(() => [200, null]))
    },
    PATIENCE_MS,
  )

  it(
    'asks for no search where that is switched off, and then a small budget is enough',
    async () => {
      const scene = await openScene(play('responses', () => 'Hello to you'))
      const { url } = scene.gateway
      // A tenth of what a window of a million tokens costs.
      const { key } = await scene.gateway.createKey({ name: 'k', budget_limit: 0.015 })
      const refused = await codex('Say hello', { url, key, words: ONCE })
      expect(refused.code).toBe(1)
      expect(refused.errors).toContain('402 Payment Required: budget_exceeded')
      expect(statuses(scene)).toEqual([[402, 'budget_exceeded']])
      const settings = ['web_search = "disabled"']
      const { output, code } = await codex('Say hello', { url, key, settings })
      expect([output, code]).toEqual(['Hello to you', 0])
      expect(scene.asked()).toHaveLength(1)
    },
    PATIENCE_MS,
  )

  it(
    'repeats a refusal as often as it was told to, and none of it costs anything',
    async () => {
      const scene = await openScene(play('responses', () => 'Hello to you'))
      const { key } = await scene.gateway.createKey({ name: 'k', budget_limit: 0.0000001 })
      const words = ['-c', 'model_providers.gateway.stream_max_retries=1']
      const { code, errors } = await codex('Say hello', { url: scene.gateway.url, key, words })
      expect(code).toBe(1)
      expect(errors).toContain('402 Payment Required: budget_exceeded')
      expect(errors).toContain('Reconnecting... 1/1')
      // Those of one second leave one row.
      const rows = scene.gateway.audit().map(({ code, cost }) => ({ code, cost }))
      expect(rows).not.toBeEmpty()
      for (const row of rows) expect(row).toEqual({ code: 'budget_exceeded', cost: 0 })
      expect(scene.supplier.requests).toBeEmpty()
    },
    PATIENCE_MS,
  )

  it.each([
    ['a key that is none', { key: 'svc_nope' }, 'invalid_api_key'],
    ['a model that is not there', { model: 'nope' }, 'nope'],
  ])(
    'tells of %s, and gives up',
    async (_name, settings, words) => {
      const scene = await openScene(play('responses', () => 'Hello to you'))
      const { code, errors } = await codex('Say hello', {
        url: scene.gateway.url,
        words: ONCE,
        ...settings,
      })
      expect(code).toBe(1)
      expect(errors).toContain(words)
      expect(scene.supplier.requests).toBeEmpty()
    },
    PATIENCE_MS,
  )

  it(
    'tells who can help where nobody is signed in',
    async () => {
      const { gateway, supplier } = await openGateway(play('responses', () => 'Hello to you'))
      const { code, errors } = await codex('Say hello', {
        url: gateway.url,
        words: ONCE,
      })
      expect(code).toBe(1)
      expect(errors).toContain('native_token_error')
      expect(supplier.requests).toBeEmpty()
    },
    PATIENCE_MS,
  )

  it(
    'does without a socket where it is told to ask for one',
    async () => {
      const scene = await openScene(play('responses', () => 'Hello to you'))
      const words = ['-c', 'model_providers.gateway.supports_websockets=true']
      const { output, code } = await codex('Say hello', { url: scene.gateway.url, words })
      expect([output, code]).toEqual(['Hello to you', 0])
      expect(scene.asked()).toHaveLength(1)
    },
    PATIENCE_MS,
  )

  it(
    'takes a turn up again that has failed halfway, and finishes it',
    async () => {
      const good = play('responses', () => 'Hello to you')
      const bad = failHalfway('responses')
      const scene = await openScene((request, reply, index) =>
        (index === 0 ? bad : good)(request, reply, index),
      )
      const { output, code } = await codex('Say hello', { url: scene.gateway.url })
      expect([output, code]).toEqual(['Hello to you', 0])
      expect(scene.asked()).toHaveLength(2)
    },
    PATIENCE_MS,
  )
})
