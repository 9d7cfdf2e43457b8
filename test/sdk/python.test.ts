// Programs in Python reach the gateway by the official libraries, unchanged: chats, messages, embeddings and sound.
// `npm run clients` installs them, and without them this part of the suite is left out with a word.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT_KEY, startGateway, type Gateway } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { openWorkshop, soundOf, vectorOf, waveOf } from '../fakes/tasks.ts'
import { findPython, startPython, type Snake } from './python.ts'
import { openStage, play, type Answer, type Asked, type Style } from './stage.ts'

const python = findPython()
const isRequired = process.env['GATEWAY_TEST_CLIENTS'] === 'required'
if (python === undefined && !isRequired)
  console.log(
    'The libraries for Python are not installed, their tests are left out: `npm run clients` gets them.',
  )

const PATIENCE_MS = 60_000
const HELLO = 'Hello'
const STYLES: readonly Style[] = ['chat', 'messages']
const SHORT = waveOf(2)
const LONG = waveOf(200)

const GUIDE = readFileSync(join(import.meta.dir, '../../docs/clients/python.md'), 'utf8')
const PROGRAMS = [...GUIDE.matchAll(/^```python\n(.*?)^```/gms)].map(
  ([, program], index): [number, string] => [index + 1, program!],
)

let snake: Snake | undefined
beforeAll(() => {
  if (python !== undefined) snake = startPython(python)
})
afterAll(async () => snake?.stop())
afterEach(closeStreet)

function run(
  { url }: Gateway,
  work: string,
  words: Readonly<Record<string, unknown>> = {},
): Promise<unknown> {
  return snake!.run(work, { url, key: ROOT_KEY, model: 'test-model', text: HELLO, ...words })
}

/** Asks for the weather first, and tells of it when it knows it. */
function weatherman({ results }: Asked): Answer {
  const [result] = results
  if (result !== undefined) return `They say: ${result.text}`
  return { id: 'call_1', name: 'weather', input: { city: 'Köln' } }
}

it.if(isRequired)('the libraries for Python are installed', () => {
  expect(python).toBeDefined()
})

describe.if(python !== undefined)('the libraries for Python', () => {
  describe.each(STYLES)('in front of a supplier of %s', (style) => {
    it.each([
      ['openai', 'chat', 'chat_stream', 'chat_tool'],
      ['anthropic', 'message', 'message_stream', 'message_tool'],
    ])(
      '%s gets answers, whole and streamed, and has its tools called',
      async (_name, whole, streamed, tool) => {
        const { gateway } = await openStage(
          style,
          play(style, (asked) => (asked.tools.length > 0 ? weatherman(asked) : 'Grüße, all')),
        )
        expect(await run(gateway, whole)).toMatchObject({ text: 'Grüße, all' })
        expect(await run(gateway, streamed)).toMatchObject({ text: 'Grüße, all' })
        expect(await run(gateway, tool)).toEqual({ text: 'They say: sunny in Köln' })
      },
      PATIENCE_MS,
    )
  })

  it(
    'embed texts, asked for as they ask by themselves and as floats',
    async () => {
      const { gateway } = await openWorkshop(undefined, { inputsMax: 2 })
      const input = ['one', 'two', 'three', 'four', 'five']
      const expected = { vectors: input.map((text) => [...vectorOf(text)]), tokens: 6 }
      const asked = { model: 'test-embed', input }
      expect(await run(gateway, 'embed', asked)).toEqual(expected)
      expect(await run(gateway, 'embed', { ...asked, format: 'float' })).toEqual(expected)
    },
    PATIENCE_MS,
  )

  it.each(['path', 'file', 'bytes'])(
    'send sound as %s',
    async (way) => {
      const { gateway } = await openWorkshop()
      for (const sound of [SHORT, LONG]) {
        const words = { model: 'test-hear', way, sound: sound.toString('base64') }
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        expect(await run(gateway, 'hear', words)).toEqual({
          text: `I heard ${sound.length} bytes.`,
        })
      }
    },
    PATIENCE_MS,
  )

  it(
    'get a text for a sound as plain text, and sound for a text as a file',
    async () => {
      const { gateway } = await openWorkshop()
      const sound = SHORT.toString('base64')
      const heard = { model: 'test-hear', way: 'bytes', sound, format: 'text' }
      expect(await run(gateway, 'hear', heard)).toEqual({
        text: `I heard ${SHORT.length} bytes.\n`,
      })
      const said = await run(gateway, 'speak', { model: 'test-speak', text: 'One, two.' })
      expect(said).toEqual({ sound: soundOf('One, two.').toString('base64') })
    },
    PATIENCE_MS,
  )

  it(
    'tell what is wrong by class, status and code',
    async () => {
      const { gateway, supplier } = await openWorkshop()
      const { key } = await gateway.createKey({ name: 'poor', budget_limit: 0.000_000_001 })
      const large = Buffer.alloc(25 * 1_048_576 + 1)
      SHORT.copy(large)
      const aiff = Buffer.from('FORM\0\0\0\0AIFF no sound')
      const hear = (sound: Buffer): Readonly<Record<string, unknown>> => ({
        model: 'test-hear',
        way: 'bytes',
        sound: sound.toString('base64'),
      })
      const rows: readonly (readonly [string, object, string, number, string])[] = [
        ['embed', { model: 'test-embed', input: [] }, 'BadRequestError', 400, 'missing_prompt'],
        [
          'embed',
          { model: 'test-embed', input: ['a'], key },
          'APIStatusError',
          402,
          'budget_exceeded',
        ],
        ['hear', hear(large), 'APIStatusError', 413, 'request_too_large'],
        ['hear', hear(aiff), 'APIStatusError', 415, 'unsupported_media_type'],
        ['speak', { model: 'test-speak', text: ' ' }, 'BadRequestError', 400, 'validation_error'],
        ['chat', { key }, 'APIStatusError', 402, 'budget_exceeded'],
        ['message', { key }, 'APIStatusError', 402, 'budget_exceeded'],
        ['message', { model: 'nobody' }, 'NotFoundError', 404, 'model_not_found'],
        ['chat', { key: `svc_${'x'.repeat(40)}` }, 'AuthenticationError', 401, 'invalid_api_key'],
      ]
      for (const [work, words, name, status, code] of rows)
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        expect(await run(gateway, work, { ...words })).toEqual({
          problem: { class: name, status, code },
        })
      expect(supplier.requests).toEqual([])
    },
    PATIENCE_MS,
  )

  it.each(PROGRAMS)(
    'do what program %i of their guide says',
    async (_index, program) => {
      const { url } = tidy(await startGateway())
      const child = Bun.spawn(
        [python!, '-I', '-c', program.replace('http://127.0.0.1:8080', url)],
        {
          env: { PATH: process.env['PATH'] ?? '', KEY: ROOT_KEY, NO_PROXY: '*' },
          stdout: 'pipe',
          stderr: 'pipe',
        },
      )
      const [output, errors] = await Promise.all([
        new Response(child.stdout).text(),
        new Response(child.stderr).text(),
      ])
      expect(errors.replaceAll(ROOT_KEY, '…')).toBe('')
      expect(new Set(output.trim().split('\n'))).toEqual(new Set(['one two three']))
      expect(await child.exited).toBe(0)
    },
    PATIENCE_MS,
  )
})
