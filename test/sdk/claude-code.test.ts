// Claude Code finishes what it is asked for, whichever language the supplier behind the gateway speaks. It is run as
// people run it; `npm run clients` installs it, and without it this part of the suite is left out with a word.
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT_KEY, startGateway, supplierAt } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { findClaudeCode, runClaude, type Run, type Settings } from './claude-code.ts'
import { openStage, play, STYLES, type Answer, type Asked } from './stage.ts'

const program = findClaudeCode()
const isRequired = process.env['GATEWAY_TEST_CLIENTS'] === 'required'
if (program === undefined && !isRequired)
  console.log('Claude Code is not installed, its tests are left out: `npm run clients` gets it.')

afterEach(closeStreet)

/** It starts a program of a third of a gigabyte; on a machine that is busy that takes its time. */
const PATIENCE_MS = 60_000

function claude(
  prompt: string,
  { words = [], ...settings }: Partial<Settings> & { readonly url: string },
): Promise<Run> {
  return runClaude(program!, prompt, {
    key: ROOT_KEY,
    words: ['--model', 'test-model', ...words],
    ...settings,
  })
}

it.if(isRequired)('is installed where it has to be', () => {
  expect(program).toBeString()
})

describe.if(program !== undefined).each(STYLES.map((style) => [style] as const))(
  'Claude Code in front of a supplier of %s',
  (style) => {
    it(
      'answers a prompt',
      async () => {
        const { gateway, asked } = await openStage(
          style,
          play(style, () => 'Hello to you'),
        )
        const { output, code } = await claude('Say hello', { url: gateway.url })
        expect([output, code]).toEqual(['Hello to you', 0])
        const [first] = asked()
        expect(first).toMatchObject({ model: 'upstream-model', stream: true })
        expect(first!.tools).toContain('Bash')
        // What it says of where it runs stands among its messages, and not before them.
        expect(first!.system.includes('working directory')).toBe(true)
        expect(
          gateway.audit().map(({ status, output_tokens: output }) => [status, output]),
        ).toEqual(asked().map(() => [200, 7]))
      },
      PATIENCE_MS,
    )

    it(
      'runs a command and reads a file, and tells the model what came of it',
      async () => {
        const steps: readonly Answer[] = [
          { id: 'call_one', name: 'Bash', input: { command: 'echo "4 * 4" = $((4 * 4))' } },
          { id: 'call_two', name: 'Read', input: { file_path: 'notes.txt' } },
        ]
        const plot = ({ results }: Asked): Answer =>
          steps[results.length] ?? `I know: ${results.map(({ text }) => text).join(' and ')}`
        const { gateway, asked } = await openStage(style, play(style, plot))
        const { output, code } = await claude('Look around', {
          url: gateway.url,
          words: ['--allowedTools', 'Bash', 'Read'],
          prepare: ({ work }) => writeFileSync(join(work, 'notes.txt'), 'the cat is in'),
        })
        expect(code).toBe(0)
        expect(output).toContain('4 * 4 = 16')
        expect(output).toContain('the cat is in')
        const turns = asked()
        expect(turns.map(({ calls }) => calls)).toEqual([
          [],
          ['call_one'],
          ['call_one', 'call_two'],
        ])
        expect(turns.at(-1)?.results.map(({ id }) => id)).toEqual(['call_one', 'call_two'])
      },
      PATIENCE_MS,
    )
  },
)

describe.if(program !== undefined)('Claude Code', () => {
  it(
    'takes a model of the gateway’s choice by the name auto',
    async () => {
      const { url } = tidy(await startGateway())
      const words = ['--model', 'auto']
      const { output, code } = await claude('Reply with exactly: one two three', { url, words })
      expect([output, code]).toEqual(['one two three', 0])
    },
    PATIENCE_MS,
  )

  it.each([
    ['a key that is none', { key: 'svc_nope' }, 'invalid_api_key'],
    ['a model that is not there', { words: ['--model', 'nope'] }, 'nope'],
  ])(
    'tells of %s, and gives up',
    async (_name, settings, words) => {
      const { url } = tidy(await startGateway())
      const { output, code } = await claude('Hello', { url, ...settings })
      expect(code).toBe(1)
      expect(output).toContain(words)
    },
    PATIENCE_MS,
  )

  it(
    'tells of a budget that is spent, after one request',
    async () => {
      const gateway = tidy(await startGateway())
      const { key } = await gateway.createKey({ name: 'k', budget_limit: 0.0000001 })
      const words = ['--model', 'demo/messages']
      const { output, code } = await claude('Hello', { url: gateway.url, key, words })
      expect(code).toBe(1)
      expect(output).toContain('budget_exceeded')
      expect(gateway.audit().map(({ status }) => status)).toEqual([402])
    },
    PATIENCE_MS,
  )

  it(
    'counts what its window holds, all parts at once',
    async () => {
      const { gateway, asked } = await openStage(
        'chat',
        play('chat', () => 'Hello'),
      )
      const watched = watch(gateway.url)
      const { output, code } = await claude('/context', { url: watched.url })
      expect(code).toBe(0)
      expect(output).toContain('System tools')
      expect(watched.seen.length).toBeGreaterThan(10)
      expect(new Set(watched.seen)).toEqual(new Set(['POST /v1/messages/count_tokens 200']))
      // Nobody was asked to answer anything.
      expect(asked()).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'finds the models of the gateway that are called like its own',
    async () => {
      const supplier = supplierAt('http://127.0.0.1:9')
      const route = supplier.models.get('test-model')!
      const models = new Map(['claude-ours', 'anthropic/ours', 'ours'].map((id) => [id, route]))
      const { url } = tidy(await startGateway({ suppliers: [{ ...supplier, models }] }))
      const found: string[] = []
      await claude('/context', {
        url,
        environment: {
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '',
          CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
        },
        inspect: ({ home }) => {
          const file = readFileSync(join(home, '.claude/cache/gateway-models.json'), 'utf8')
          const list = JSON.parse(file) as { readonly models: readonly { readonly id: string }[] }
          found.push(...list.models.map(({ id }) => id))
        },
      })
      expect(found.toSorted()).toEqual(['anthropic/ours', 'claude-ours'])
    },
    PATIENCE_MS,
  )

  it(
    'takes everything from its file of settings, the small model too',
    async () => {
      const { gateway, asked } = await openStage(
        'chat',
        play('chat', () => 'Hello to you'),
      )
      const env = {
        ANTHROPIC_BASE_URL: gateway.url,
        ANTHROPIC_AUTH_TOKEN: ROOT_KEY,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'test-model',
      }
      const { output, code } = await claude('Say hello', {
        url: '',
        key: '',
        words: ['--model', 'haiku'],
        prepare: ({ home }) => {
          mkdirSync(join(home, '.claude'))
          writeFileSync(join(home, '.claude/settings.json'), JSON.stringify({ env }))
        },
      })
      expect([output, code]).toEqual(['Hello to you', 0])
      expect(asked().map(({ model }) => model)).toEqual(['upstream-model'])
    },
    PATIENCE_MS,
  )
})

/** Stands before the gateway and writes down what is asked of it, and how that ends. */
function watch(target: string): { readonly url: string; readonly seen: readonly string[] } {
  const seen: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const body = await request.bytes()
      const { method, headers } = request
      const response = await fetch(target + pathname + search, { method, headers, body })
      seen.push(`${method} ${pathname} ${response.status}`)
      return new Response(await response.bytes(), response)
    },
  })
  tidy({ stop: () => server.stop(true) })
  return { url: server.url.origin, seen }
}
