// What a newcomer is told about a configuration file that does not work. Every text stands as a whole
// beside its file, because each one has to be read as a whole.
import { describe, expect, it } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigurationError } from '../src/config/environment.ts'
import { parseConfig } from '../src/config/load.ts'
import { printProblem } from '../src/config/problem.ts'
import { decodeConfig } from '../src/config/read.ts'
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

function check(file: string, bytes: Uint8Array): string {
  try {
    const { warnings } = parseConfig({ file, text: decodeConfig(file, bytes) }, ENVIRONMENT, KINDS)
    return ['ok', ...warnings.map(printProblem)].join('\n\n')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
}

const checkText = (text: string): string => check('gateway.yaml', new TextEncoder().encode(text))

describeGolden(FIXTURES, check)

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
