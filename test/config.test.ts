// What a newcomer is told about a configuration file that does not work. Every text stands as a whole
// beside its file, because each one has to be read as a whole.
import { describe, expect, it } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ConfigurationError,
  readSettings,
  type ConfigProblem,
  type Environment,
} from '../src/config/environment.ts'
import { parseConfig } from '../src/config/load.ts'
import { describeField, findField } from '../src/config/outline.ts'
import { printProblem } from '../src/config/problem.ts'
import { decodeConfig } from '../src/config/read.ts'
import { ConfigSchema } from '../src/config/schema.ts'
import { findSuppliers } from '../src/snapshot.ts'
import { kindIds } from '../src/suppliers/index.ts'
import { createFolder } from './fakes/process.ts'
import { describeGolden } from './fixtures/config/golden.ts'

const FIXTURES = join(import.meta.dir, 'fixtures/config')

const ENVIRONMENT = {
  OPENAI_API_KEY: 'canary-of-the-environment',
  MISTRAL_API_KEY: 'canary-of-the-environment',
  GROQ_API_KEY: 'canary-of-the-environment',
  AZURE_API_KEY: 'canary-of-the-environment',
  EMPTY_API_KEY: '',
}

const KINDS = ['openai', 'azure', 'mistral', 'groq', 'openai-compatible', 'demo']

function check(file: string, bytes: Uint8Array, environment: Environment = ENVIRONMENT): string {
  try {
    const { warnings } = parseConfig({ file, text: decodeConfig(file, bytes) }, environment, {
      kinds: KINDS,
    })
    return ['ok', ...warnings.map(printProblem)].join('\n\n')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
}

const checkText = (text: string): string => check('gateway.yaml', new TextEncoder().encode(text))

describeGolden(FIXTURES, (file, bytes) => check(file, bytes))

describe('the guides', () => {
  const read = (name: string): string => readFileSync(join(import.meta.dir, '..', name), 'utf8')
  const blocksOf = (page: string, language: string): readonly string[] =>
    [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, word, text = '']) =>
      word === language ? [text] : [],
    )

  it.each([
    'README.md',
    'docs/suppliers.md',
    'docs/models.md',
    'docs/configuration.md',
    'docs/regions.md',
    'docs/routing.md',
  ])('show files that a start would take: %s', async (name) => {
    const files = blocksOf(read(name), 'yaml')
    expect(files).not.toBeEmpty()
    using folder = createFolder()
    const variables = Object.fromEntries(
      [...files.join('').matchAll(/\$\{(\w+)\}/g)].map(([, variable = '']) => [
        variable,
        variable.endsWith('HOST') ? 'gpu' : `svc_${'x'.repeat(40)}`,
      ]),
    )
    for (const [index, text] of files.entries()) {
      const config = join(folder.path, `${index}.yaml`)
      writeFileSync(config, text, { mode: 0o600 })
      const settings = await readSettings({ config, environment: variables, kinds: kindIds })
      expect(settings.warnings).toEqual([])
      expect(() => findSuppliers(settings)).not.toThrow()
    }
  })

  it('show a broken file with exactly what is said about it', () => {
    const blocks = blocksOf(read('docs/configuration.md'), '')
    const at = blocks.findIndex((text) => text.startsWith('gateway.yaml has '))
    const told = check('gateway.yaml', new TextEncoder().encode(blocks[at - 1]), {})
    expect(`${told}\n`).toBe(blocks[at] ?? '')
  })
})

describe('files that are no text', () => {
  it('are refused by their size before anybody parses them', () => {
    expect(checkText(`data: ${'x'.repeat(2_000_000)}`)).toBe(
      'gateway.yaml has 1.9 MiB, and a configuration may have 1 MiB. Is it the right file?',
    )
  })

  it('are refused with the line that is not UTF-8', () => {
    const latin = Buffer.from('listen:\n  host: caf\u00e9\n', 'latin1')
    expect(check('gateway.yaml', latin)).toContain(
      'gateway.yaml:2:1  this line holds a character that is not UTF-8: save the file as UTF-8',
    )
  })

  it('are recognised as UTF-16, which one editor and one shell write', () => {
    const wide = Buffer.from('\uFEFFlisten:\n', 'utf16le')
    expect(check('gateway.yaml', wide)).toContain('is UTF-16 text. Save it as UTF-8')
  })

  it('are recognised as binary', () => {
    expect(checkText('SQLite format 3\0')).toContain('is not a text file')
  })
})

describe('files that look odd and are right', () => {
  it.each([
    ['nothing', ''],
    ['comments', '# nothing yet\n'],
    ['a document marker', '---\nlisten:\n  port: 1\n'],
    ['a byte order mark and the line ends of Windows', '\uFEFFlisten:\r\n  port: 1\r\n'],
    ['sections with everything commented out', 'suppliers:\n  # openai:\nlisten:\nlimits:\n'],
    ['JSON', '{\n\t"listen": {"port": 1},\n\t"suppliers": {"a": {"kind": "demo"}}\n}\n'],
    ['an alias', 'suppliers:\n  a: &a\n    kind: demo\n  b: *a\n'],
    ['a name that every object has', 'suppliers:\n  constructor:\n    kind: demo\n'],
  ])('%s', (_what, text) => {
    expect(checkText(text)).toBe('ok')
  })
})

describe('what is printed', () => {
  it('shows no secret of any of the broken files, and nothing of the environment', () => {
    const texts = readdirSync(FIXTURES).filter((name) => name.endsWith('.txt'))
    for (const name of texts)
      expect(readFileSync(join(FIXTURES, name), 'utf8'), name).not.toMatch(/hunter2|canary/)
  })

  it.each([
    'credential: CANARY',
    'credential:CANARY',
    'credential CANARY',
    'credential = CANARY',
    'credential: "CANARY',
    "credential: 'CANARY",
    'credential: "CANARY" CANARY',
    'credential: CANARY: CANARY',
    'credential: @CANARY',
    'credential: !CANARY CANARY',
    'credential: *CANARY',
    'credential: {CANARY',
    'credential: [CANARY, CANARY]',
    'credential: {CANARY: CANARY}',
    'credential: "CANARY\\q"',
    'credential: ${CANARY',
    'credential: ${MISSING:-CANARY CANARY}',
    'credential:\n      CANARY\n      CANARY: x',
    'credential: |\n      CANARY\n     CANARY',
    'credentials:\n    - CANARY\n    - [CANARY]\n   - CANARY',
    'credentials:\n    - CANARY CANARY\n    - {a: CANARY}',
    'api_key: CANARY',
    'api-key: "CANARY"',
    'apiKey: CANARY\n    apiKey: CANARY',
    'headers: {x: CANARY}',
    'auth:\n      bearer: CANARY',
    'Authorization: Bearer CANARY',
    'region: EU # the key is CANARY',
  ])('shows no secret in %j', (line) => {
    const secret = 'swordfish'
    const told = checkText(
      `suppliers:\n  a:\n    kind: demo\n    ${line.replaceAll('CANARY', secret)}\n    port: 1\n`,
    )
    expect(told).toStartWith('gateway.yaml has ')
    expect(told).not.toContain(secret)
  })

  it('shows no secret, and never fails, wherever one character is wrong', () => {
    const file = `listen:
  port: 8080
root_key: swordfish
suppliers:
  main:
    kind: demo
    credential: swordfish
  other:
    kind: demo
    credentials:
      - swordfish
      - "swordfish"
    models:
      llama: { as: "llama 70b", price: free }
`
    for (let at = 0; at <= file.length; at += 1)
      for (const text of ['', '\n', ':', '"', '{', '- ']) {
        const rest = file.slice(text === '' ? at + 1 : at)
        expect(checkText(file.slice(0, at) + text + rest)).not.toContain('swordfish')
      }
  })

  it('shows nothing that looks like a credential, wherever it stands', () => {
    const told = checkText('listen:\n  host: [sk-abcdefghijkl]\n  sk-abcdefghijkl oops\n')
    expect(told).not.toContain('abcdef')
  })

  it.each([
    ['a password in an address', 'origin: [https://user:hush/hush@host]'],
    ['a password without a scheme', 'origin: [user:hush@host]'],
    ['what an address asks with', 'origin: [https://host/x?sig=hush]'],
    ['a password in a text that is quoted', 'allow_private: https://user:hush@host'],
    ['a query in a text that is quoted', 'allow_private: host?sig=hush'],
  ])('shows nothing of %s', (_what, line) => {
    const told = checkText(`suppliers:\n  a:\n    kind: demo\n    ${line}\n`)
    expect(told).toStartWith('gateway.yaml has a problem')
    expect(told).not.toContain('hush')
  })

  it.each(['', 'suppliers:\n  a:\n    kind: demo\n    ', 'suppliers:\n  ', 'suppliers: {a: {'])(
    'shows no secret that stands in the place of a name, after %j',
    (before) => {
      const name = 'sk-proj-Abcdefghijkl'
      const text = `${before}${name}: {}${before.endsWith('{') ? '}}' : ''}\n`
      let problems: readonly ConfigProblem[] = []
      try {
        parseConfig({ file: 'gateway.yaml', text }, ENVIRONMENT, { kinds: KINDS })
      } catch (thrown) {
        if (thrown instanceof ConfigurationError) ({ problems } = thrown)
      }
      expect(problems).not.toBeEmpty()
      expect(JSON.stringify(problems).toLowerCase()).not.toContain('abcdefg')
    },
  )

  it('looks at the beginning of a line or a value, however long it is', () => {
    const long = (length: number): string => checkText(`listen:\n  port: "${'a'.repeat(length)}"\n`)
    expect(long(1_000_000)).toBe(long(1000))
    const far = checkText(`listen: {host: "${'a b '.repeat(200)}", port: x}\n`)
    expect(far).toContain('gateway.yaml:1:826  listen.port  is "x"')
    expect(far).not.toContain(' | ')
  })

  it('finds every name that stands there again, and where it stood first', () => {
    const told = checkText(`models:\n${'  m: {}\n'.repeat(20_000)}`)
    expect(told).toStartWith('gateway.yaml has 19999 problems:')
    expect(told).toContain(
      'gateway.yaml:21:3  this name stands here a second time (first in line 2)',
    )
  })

  it('describes each field of the schema once, however many models a file has', () => {
    const { suppliers } = describeField(ConfigSchema).fields
    expect(suppliers && describeField(suppliers)).toBe(suppliers && describeField(suppliers))
    expect(findField(['suppliers', 'a', 'models', 'm', 'price'])).toBe(
      findField(['suppliers', 'b', 'models', 'n', 'price']),
    )
  })

  it('refuses a file of nothing but brackets before it is parsed', () => {
    for (const mark of ['[', ']', '{', '- ', '%\n', '"'])
      expect(checkText(mark.repeat(Math.floor(1_000_000 / mark.length)))).toContain(
        'has more than 250000 lines, names and brackets',
      )
  })

  it('holds nothing that a terminal would obey', () => {
    expect(checkText('listen:\n  host: [\u001b[31m]\n')).not.toContain('\u001b')
  })

  it('stops after twenty', () => {
    const text = Array.from({ length: 50 }, (_, index) => `odd${index}: 1\n`).join('')
    const told = checkText(text)
    expect(told).toStartWith('gateway.yaml has 50 problems:')
    expect(told).toEndWith('and 30 more')
  })

  it('takes nothing over from a file into every object', () => {
    checkText(
      '__proto__: {polluted: 1}\nsuppliers: {a: {kind: demo, quirks: {default: {__proto__: {polluted: 1}}}}}\n',
    )
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })
})
