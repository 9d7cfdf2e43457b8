// What is told about names of a configuration that lead nowhere: each reads as a whole behind its place in the file.
import { describe, expect, it } from 'bun:test'
import { Auto } from '../config/auto.ts'
import type { ConfigFault } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { findNameFaults, type Serving } from './check.ts'

const DEFAULTS = ConfigSchema.parse({}).defaults

const SUPPLIERS: readonly Serving[] = [
  { id: 'one', models: new Map(['large-a', 'large-b'].map((id) => [id, {}])) },
  { id: 'two', models: new Map([['small', {}]]) },
  {
    id: 'ears',
    models: new Map([
      ['hears', { task: 'transcription' }],
      ['speaks', { task: 'speech' }],
    ]),
  },
  { id: 'rack', models: new Map(), anyModel: [] },
  { id: 'plans', models: new Map(['agent-a', 'agent-b'].map((id) => [id, {}])), oauth: {} },
]

function tell(
  models: Record<string, readonly string[]>,
  aliases = {},
  choice?: readonly string[],
): readonly string[] {
  const wishes = Object.fromEntries(
    Object.entries(models).map(([id, fallbacks]) => [id, { fallbacks: [...fallbacks] }]),
  )
  const auto = { ...Auto.parse({}), ...(choice !== undefined && { models: [...choice] }) }
  return print(findNameFaults({ models: wishes, aliases, auto, defaults: DEFAULTS }, SUPPLIERS))
}

function print(faults: readonly ConfigFault[]): readonly string[] {
  return faults.map(({ path, message }) => `${path.join('.')} ${message}`)
}

function tellDefault(transcription: string): readonly string[] {
  const defaults = { ...DEFAULTS, transcription }
  const aliases = { ears: 'hears', mouth: 'ears/speaks' }
  return print(findNameFaults({ models: {}, aliases, auto: Auto.parse({}), defaults }, SUPPLIERS))
}

describe('models that stand in', () => {
  it('are fine where somebody serves them', () => {
    expect(tell({ 'large-a': ['large-b', 'small'], small: ['large-a'] })).toEqual([])
  })

  it('may be left out of any model, served or not', () => {
    expect(tell({ nobody: [] })).toEqual([])
  })

  it.each([
    [['smal'], '0 is no model that a supplier of this file lists (did you mean small?): write'],
    [['gone-away'], '0 is no model that a supplier of this file lists: write an id that `gateway'],
    [['small', 'small'], '1 stands there a second time: remove one of the two'],
    [['large-a'], '0 is the model itself: name another one, or remove it'],
    [['two/small'], '0 is a model at one supplier, and a model stands in wherever it is served'],
    [['rack/any'], '0 is no model that a supplier of this file lists'],
    [['quick'], '0 is another name for a model: write the id of that model itself'],
    [['small', 'agent-a'], '1 is served to native agents alone, and large-a to all others: name'],
    [['hears'], '0 is a model for transcription, and large-a is one for chat: name one that does'],
  ])('are refused: %j', (fallbacks, start) => {
    const told = tell({ 'large-a': fallbacks }, { quick: 'small' })
    expect(told).toHaveLength(1)
    expect(told[0]).toStartWith(`models.large-a.fallbacks.${start}`)
  })

  it('are refused for a model that nobody serves', () => {
    expect(tell({ 'large-c': ['small'] })).toEqual([
      'models.large-c.fallbacks are for a model that nobody serves (did you mean large-a?): large-c needs a supplier before others can stand in for it',
    ])
  })
})

describe('models of native suppliers', () => {
  it('stand in for one another, and have names like all', () => {
    expect(tell({ 'agent-a': ['agent-b'] }, { quick: 'plans/agent-a' })).toEqual([])
  })

  it('are not left for others, and not chosen', () => {
    expect(tell({ 'agent-a': ['small'] }, {}, ['small', 'agent-a', 'plans/agent-b'])).toEqual([
      'models.agent-a.fallbacks.0 is no model of a native supplier, and agent-a is served by these alone: name one of theirs, or remove it',
      'auto.models.1 is served to native agents alone, and `auto` is not: remove it',
      'auto.models.2 is served to native agents alone, and `auto` is not: remove it',
    ])
  })
})

describe('other names', () => {
  it.each(['small', 'one/large-a', 'rack/llama:8b'])('may lead to %s', (target) => {
    expect(tell({}, { quick: target })).toEqual([])
  })

  it.each([
    ['small', 'large-a', 'is the id of a model that is served: choose another name'],
    ['two/small', 'large-a', 'already means a model at one supplier: choose another name'],
    ['rack/mine', 'large-a', 'already means a model at one supplier: choose another name'],
    ['quick', 'smalll', 'leads to no model that is served (did you mean small?): write an id'],
    ['quick', 'two/large-a', 'leads to no model that is served: write an id'],
    ['quick', 'rack/', 'leads to no model that is served: write an id'],
    ['quick', 'other', 'leads to another such name, and not to a model: write the id'],
  ])('are refused: %s for %s', (alias, target, start) => {
    const told = tell({}, { other: 'small', [alias]: target })
    expect(told).toHaveLength(1)
    expect(told[0]).toStartWith(`aliases.${alias} ${start}`)
  })

  it('are all told of at once, and quote nothing that stands behind a name', () => {
    const told = tell({ small: ['sk-secret'] }, { one: 'sk-secret', two: 'sk-secret' })
    expect(told).toHaveLength(3)
    expect(told.join('')).not.toContain('secret')
  })
})

describe('models to choose from', () => {
  it('may be models, models at one supplier, and what only a server knows', () => {
    expect(tell({}, {}, ['small', 'one/large-a', 'rack/llama:8b'])).toEqual([])
  })

  it.each([
    [['smal'], '0 is no model that is served (did you mean small?): write an id'],
    [['small', 'two/large-a'], '1 is no model that is served'],
    [['small', 'small'], '1 stands there a second time: remove one of the two'],
    [['quick'], '0 is another name for a model: write the id of that model itself'],
  ])('are refused: %j', (choice, start) => {
    const told = tell({}, { quick: 'small' }, choice)
    expect(told).toHaveLength(1)
    expect(told[0]).toStartWith(`auto.models.${start}`)
  })
})

describe('the model of a transcription that names none', () => {
  it.each(['hears', 'ears/hears', 'ears', 'rack/whisper'])('may be %s', (name) => {
    expect(tellDefault(name)).toEqual([])
  })

  it.each([
    [
      'heers',
      'is no model that is served (did you mean hears?): write an id that `gateway models`',
    ],
    ['gone-away', 'is no model that is served: write an id'],
    ['speaks', 'is a model for speech: name one that transcribes'],
    ['mouth', 'is a model for speech'],
    ['small', 'is a model for chat'],
  ])('is refused: %s', (name, start) => {
    const told = tellDefault(name)
    expect(told).toHaveLength(1)
    expect(told[0]).toStartWith(`defaults.transcription ${start}`)
  })
})
