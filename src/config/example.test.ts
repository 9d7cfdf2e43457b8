import { describe, expect, it } from 'bun:test'
import { exampleConfig } from './example.ts'
import { parseConfig } from './load.ts'

const VARIABLES = [
  'OPENAI_API_KEY',
  'MISTRAL_API_KEY',
  'GOOGLE_API_KEY',
  'AZURE_API_KEY',
  'OLLAMA_HOST',
  'GROQ_API_KEY',
]

function suppliersOf(text: string): Readonly<Record<string, { readonly kind: string }>> {
  const environment = Object.fromEntries(VARIABLES.map((name) => [name, 'x']))
  const { config, warnings } = parseConfig({ file: 'gateway.yaml', text, mode: 0o644 }, environment)
  expect(warnings).toEqual([])
  return config.suppliers
}

/** Every comment that is a line of the file in waiting. */
function uncomment(text: string): string {
  return text.replaceAll(/^( *)# ((?: *[\w-]+:(?: \S.*)?))$/gm, '$1$2')
}

describe('the example', () => {
  it('works as it is and switches nobody on', () => {
    expect(suppliersOf(exampleConfig({ present: [] }))).toEqual({})
  })

  it('switches on the suppliers whose variables are there', () => {
    const suppliers = suppliersOf(exampleConfig({ present: ['OPENAI_API_KEY', 'GROQ_API_KEY'] }))
    expect(Object.entries(suppliers).map(([id, { kind }]) => [id, kind])).toEqual([
      ['openai', 'openai'],
      ['groq', 'groq'],
    ])
  })

  it('works with everything switched on, and takes the variable that is set', () => {
    const text = exampleConfig({ present: VARIABLES })
    expect(Object.keys(suppliersOf(text))).toHaveLength(VARIABLES.length)
    expect(text).toContain('${GOOGLE_API_KEY}')
    expect(text).not.toContain('GEMINI_API_KEY')
  })

  it('takes the kind from whoever knows it', () => {
    const suppliers = [{ kind: 'special', variable: 'ODD_NAME' }]
    expect(exampleConfig({ present: ['ODD_NAME'], suppliers })).toContain('kind: special')
  })

  it('holds in its comments what would work without them', () => {
    const text = uncomment(exampleConfig({ present: [] }))
    expect(Object.keys(suppliersOf(text))).toEqual(['openai', 'mistral', 'local'])
    expect(text).toContain('\ndefaults:\n  timeouts:\n    total: 600\n')
  })

  it('shows no mark of the template', () => {
    for (const present of [[], VARIABLES])
      expect(exampleConfig({ present })).not.toMatch(/#[?+]|\n\n\n/)
  })
})
