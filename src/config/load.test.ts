import { describe, expect, it } from 'bun:test'
import { Secret } from '../core/secret.ts'
import { ConfigFault } from './fault.ts'
import { parseConfig, type LoadedConfig } from './load.ts'
import { ConfigurationError, printProblem } from './problem.ts'

const ENVIRONMENT = {
  MAIN_KEY: 'main-secret',
  PORT_HERE: '9000',
  YES: 'true',
  RATE: '0.15',
  EMPTY: '',
  YAML: 'x\nsuppliers: {evil: {kind: evil}} # "\' ${MAIN_KEY}',
}

function load(text: string, mode?: number): LoadedConfig {
  const source = { file: 'gateway.yaml', text, ...(mode === undefined ? {} : { mode }) }
  return parseConfig(source, ENVIRONMENT)
}

function refusalOf(text: string): ConfigurationError {
  try {
    load(text)
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown
    throw thrown
  }
  throw new Error('nothing was refused')
}

const supplier = (fields: string): string => `suppliers:\n  main:\n    kind: demo\n${fields}`

describe('an empty file', () => {
  it('has every default', () => {
    const { config } = load('')
    expect(config.listen).toEqual({ host: '127.0.0.1', port: 8080 })
    expect(config.discover).toBe(false)
    expect(config.suppliers).toEqual({})
    expect(config.defaults.timeouts.total).toBe(600)
    expect(config.limits.attempts).toBe(3)
  })
})

describe('variables', () => {
  it('are put into texts, numbers and booleans', () => {
    const { config } = load(
      `listen:\n  host: 10.\${PORT_HERE}.0.1\n  port: \${PORT_HERE}\ndemo: \${YES}\n${supplier(
        '    models:\n      m: {price: {input: "${RATE}", output: 1}}\n',
      )}`,
    )
    expect(config.listen).toEqual({ host: '10.9000.0.1', port: 9000 })
    expect(config.demo).toBe(true)
    expect(config.suppliers['main']?.models?.['m']?.price).toEqual({ input: '0.15', output: '1' })
  })

  it('have defaults, also where they are empty', () => {
    expect(load('data: ${NOWHERE:-here}/${EMPTY:-there}').config.data).toBe('here/there')
  })

  it('can be written as themselves', () => {
    expect(load('data: $${MAIN_KEY}').config.data).toBe('${MAIN_KEY}')
  })

  it('never become structure, and are not looked into again', () => {
    const { config } = load('data: ${YAML}')
    expect(config.data).toBe(ENVIRONMENT.YAML)
    expect(config.suppliers).toEqual({})
  })

  it('are left alone in names', () => {
    expect(refusalOf('${MAIN_KEY}: 1').problems[0]?.path).toEqual(['${MAIN_KEY}'])
  })

  it('do not make a number of a quoted text that is none of theirs', () => {
    expect(refusalOf('listen:\n  port: "9000"').problems[0]?.path).toEqual(['listen', 'port'])
  })
})

describe('secrets', () => {
  it('are kept where nothing prints them', () => {
    const credential = load(supplier('    credential: " ${MAIN_KEY}\\n"')).config.suppliers['main']
      ?.credential
    expect(credential).toBeInstanceOf(Secret)
    expect(credential?.reveal()).toBe('main-secret')
    expect(JSON.stringify(credential)).not.toContain('main')
  })

  it('cause no warning when they come from the environment', () => {
    expect(load(supplier('    credential: ${MAIN_KEY}'), 0o644).warnings).toEqual([])
  })

  it('cause a warning when they stand in the file, also as a default', () => {
    for (const credential of ['plain-secret', '${MAIN_KEY:-plain-secret}']) {
      const { warnings } = load(supplier(`    credential: ${credential}`))
      expect(warnings.map(({ path }) => path)).toEqual([['suppliers', 'main', 'credential']])
      expect(warnings.map(printProblem).join()).toContain('write ${MAIN_API_KEY}')
      expect(warnings.map(printProblem).join()).not.toContain('plain-secret')
    }
  })

  it('cause another one when other users can read them there', () => {
    const text = supplier('    credential: plain-secret')
    expect(load(text, 0o600).warnings).toHaveLength(1)
    expect(load(text, 0o640).warnings.at(-1)?.message).toContain('chmod 600 gateway.yaml')
  })
})

describe('prices', () => {
  const priced = (price: string): LoadedConfig =>
    load(supplier(`    models:\n      m:\n        price: ${price}\n`))
  const priceOf = (price: string): unknown =>
    priced(price).config.suppliers['main']?.models?.['m']?.price

  it('are free, rates, or rates by day', () => {
    expect(priceOf('free')).toBe('free')
    expect(priceOf('{ input: 0.150, output: "0.60" }')).toEqual({ input: '0.15', output: '0.60' })
    expect(priceOf('[{ input: 1, output: 2 }, { from: 2027-01-01, input: 2, output: 3 }]')).toEqual(
      [
        { input: '1', output: '2' },
        { from: '2027-01-01', input: '2', output: '3' },
      ],
    )
  })

  it('are refused above what exact amounts can hold for any call', () => {
    expect(priceOf('{ input: 1500, output: 1500.0 }')).toEqual({ input: '1500', output: '1500' })
    expect(() => priced('{ input: 1500.01, output: 1 }')).toThrow('is more than 1500 dollars')
  })

  it('stay plain decimals where the language would print an exponent', () => {
    expect(priceOf('{ input: 0.000001, output: 1 }')).toEqual({ input: '0.000001', output: '1' })
  })

  it('need input and output where they count tokens, and neither elsewhere', () => {
    expect(priceOf('{ search: 2 }')).toEqual({ search: '2' })
    expect(priceOf('{ minute: 0.006 }')).toEqual({ minute: '0.006' })
    expect(() => priced('{ input: 1 }')).toThrow('output')
  })

  it('cause a warning when they look like the price of one token', () => {
    const { warnings } = priced('{ input: 0.00001, output: 0.60 }')
    expect(warnings.map(({ message }) => message)).toEqual([
      'is very little for a million tokens: if it is the price of one, write 10',
    ])
  })
})

describe('regions', () => {
  function warningsOf(text: string): readonly string[] {
    const known = { regions: ['EU', 'DE', 'EU-WEST-1'] }
    const { warnings } = parseConfig({ file: 'gateway.yaml', text }, ENVIRONMENT, known)
    return warnings.map(({ path, message }) => `${path.join('.')} ${message}`)
  }

  it('that nobody knows cause a warning at a supplier, with the one that may have been meant', () => {
    const told = 'suppliers.main.region is a region that nobody knows'
    const [slip, ...others] = warningsOf(supplier('    region: eu-wets-1\n'))
    expect(others).toEqual([])
    expect(slip).toStartWith(`${told} (did you mean EU-WEST-1?), so only keys for this very name`)
    expect(warningsOf(supplier('    region: moonbase\n'))[0]).toStartWith(`${told}, so only`)
  })

  it('that nobody knows cause a warning where another lies in them, unless a supplier is there', () => {
    const text = 'regions: { hall: moonbase }\n'
    expect(warningsOf(text)).toEqual([
      'regions.hall lies in a region that nobody knows and where no supplier is: correct it, or write under regions what that one lies in',
    ])
    const both = warningsOf(`${text}${supplier('    region: moonbase\n')}`)
    expect(both.map((warning) => warning.split(' ')[0])).toEqual(['suppliers.main.region'])
  })

  it('that are known, declared or none cause no warning', () => {
    const own = 'regions: { Hall: rack-7, rack-7: DE }\n'
    for (const region of ['eu', 'hall', 'RACK-7', 'global'])
      expect(warningsOf(`${own}${supplier(`    region: ${region}\n`)}`)).toEqual([])
    expect(warningsOf(supplier(''))).toEqual([])
  })
})

describe('problems', () => {
  it('come in the order of the file, each with its place', () => {
    const { problems } = refusalOf('demo: 1\nlisten:\n  port: x\nsuppliers:\n  a: {}\nzone: 1\n')
    expect(problems.map(({ line, column, path }) => [line, column, path.join('.')])).toEqual([
      [1, 7, 'demo'],
      [3, 9, 'listen.port'],
      [5, 3, 'suppliers.a.kind'],
      [6, 1, 'zone'],
    ])
    expect(problems.every(({ file }) => file === 'gateway.yaml')).toBe(true)
  })

  it('of the floors above are shown in the same way', () => {
    const loaded = load(supplier('    credential: plain-secret\n    origin: http://a\n'))
    const faults = [
      new ConfigFault(['suppliers', 'main', 'origin'], 'is not safe'),
      new ConfigFault(['suppliers', 'main', 'models', 'm', 'price'], 'is missing'),
      new ConfigFault(['suppliers', 'main', 'credential'], 'is refused'),
    ]
    const { message, problems } = loaded.refuse(faults)
    expect(problems.map(({ line, column }) => [line, column])).toEqual([
      [2, 3],
      [4, 17],
      [5, 13],
    ])
    expect(message).toContain('gateway.yaml:5:13  suppliers.main.origin  is not safe\n')
    expect(message).not.toContain('plain-secret')
  })

  it('can be placed by whoever knows a path', () => {
    const loaded = load(supplier('    region: EU\n'))
    expect(loaded.locate(['suppliers', 'main', 'region'])).toEqual({ line: 4, column: 5 })
    expect(loaded.locate(['suppliers', 'main', 'price', 'input'])).toEqual({ line: 2, column: 3 })
    expect(loaded.has(['suppliers', 'main', 'region'])).toBe(true)
    expect(loaded.has(['data'])).toBe(false)
  })
})

describe('a value that came from a variable', () => {
  it('is in no message, whoever repeats it', () => {
    const loaded = load(supplier('    region: ${MAIN_KEY}\n    origin: http://a\n'))
    const path = ['suppliers', 'main', 'region']
    for (const fault of [
      new ConfigFault(path, 'is MAIN-SECRET, which is nowhere'),
      new ConfigFault(['suppliers', 'main', 'origin'], 'is not in main-secret'),
    ]) {
      const { message } = loaded.refuse([fault])
      expect(message).not.toMatch(/main-secret/i)
      expect(message).toContain('${MAIN_KEY}')
    }
  })
})

describe('names that every object has', () => {
  it('are names like any other', () => {
    const { config } = load(
      'suppliers:\n  constructor:\n    kind: demo\n    models:\n      toString: {as: valueOf}\n',
    )
    expect(Object.keys(config.suppliers)).toEqual(['constructor'])
    expect(config.suppliers['constructor']?.models?.['toString']).toEqual({ as: 'valueOf' })
  })
})
