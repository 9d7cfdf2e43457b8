// A model that refuses to be told how to choose its words, or to think beside tools, is not told, by callers of another
// language; those of its own language hear from it themselves.
import { afterEach, describe, expect, it } from 'bun:test'
import { toPicoUsd } from '../../src/core/money.ts'
import { ask, closeHouses, GOOD, house, sentTo, type Language } from '../fakes/languages.ts'

afterEach(closeHouses)

const price = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
const ROUTE = { as: 'upstream-model', prices: [{ from: 0, price }], ownedBy: 'maker' } as const

describe('a model that refuses a temperature', () => {
  it.each<readonly [Language, Language]>([
    ['chat', 'messages'],
    ['messages', 'chat'],
    ['chat', 'responses'],
    ['responses', 'chat'],
    ['messages', 'responses'],
    ['responses', 'messages'],
  ])('is sent none by callers of %s, who are told so, where it speaks %s', async (caller, own) => {
    const changes = { models: new Map([['test-model', { ...ROUTE, samples: false as const }]]) }
    const { gateway, suppliers } = await house([[own, GOOD[own]]], { changes })
    const asked = { temperature: 0.5, top_p: 1 }
    const response = await ask(gateway, caller, asked)
    expect(response.headers.get('x-svc-losses')).toBe('/temperature')
    await response.arrayBuffer()
    expect(await sentTo(suppliers[0]!)).not.toContainAnyKeys(['temperature', 'top_p'])
    const relayed = await ask(gateway, own, asked)
    expect(relayed.headers.has('x-svc-losses')).toBe(false)
    await relayed.arrayBuffer()
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject(asked)
  })
})

describe('a model that does not think beside tools', () => {
  it.each([
    ['off', 'none'],
    ['unsaid', undefined],
  ] as const)('is told so, or nothing: %s', async (besideTools, effort) => {
    const route = { ...ROUTE, reasoning: 'effort', besideTools } as const
    const changes = { models: new Map([['test-model', route]]) }
    const { gateway, suppliers } = await house([['chat', GOOD.chat]], { changes })
    const thinking = { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    const response = await ask(gateway, 'messages', { ...thinking, tools })
    expect(response.headers.get('x-svc-losses')).toContain('/output_config/effort')
    await response.arrayBuffer()
    expect((await sentTo(suppliers[0]!))['reasoning_effort']).toBe(effort)
    const alone = await ask(gateway, 'messages', thinking)
    expect(alone.headers.has('x-svc-losses')).toBe(false)
    await alone.arrayBuffer()
    expect(await sentTo(suppliers[0]!, 1)).toMatchObject({ reasoning_effort: 'low' })
  })
})

describe('a model that always thinks', () => {
  const tools = [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }]

  it('is neither told not to nor made to call a tool, and who asked is told so', async () => {
    const route = { ...ROUTE, reasoning: 'effort', leastThinking: 'always' } as const
    const changes = { models: new Map([['test-model', route]]) }
    const { gateway, suppliers } = await house([['messages', GOOD.messages]], { changes })
    const asked = { tools, tool_choice: 'required', reasoning_effort: 'none' }
    const response = await ask(gateway, 'chat', asked)
    expect(response.headers.get('x-svc-losses')?.split(', ').toSorted()).toEqual([
      '/reasoning_effort',
      '/tool_choice',
    ])
    await response.arrayBuffer()
    const sent = await sentTo(suppliers[0]!)
    expect(sent).toMatchObject({ tool_choice: { type: 'auto' } })
    expect(sent).not.toContainAnyKeys(['thinking', 'output_config'])
  })

  it('is told how much by a word that it knows', async () => {
    const route = { ...ROUTE, reasoning: 'effort', refusedEfforts: ['xhigh'] } as const
    const changes = { models: new Map([['test-model', route]]) }
    const { gateway, suppliers } = await house([['messages', GOOD.messages]], { changes })
    const response = await ask(gateway, 'chat', { reasoning_effort: 'xhigh' })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
    expect(await sentTo(suppliers[0]!)).toMatchObject({ output_config: { effort: 'high' } })
  })
})
