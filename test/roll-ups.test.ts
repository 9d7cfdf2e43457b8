// Calls are added up in the background: never twice at once, never without end, and not after the end.
import { expect, it } from 'bun:test'
import type { Log } from '../src/observe/log.ts'
import { RollUps } from '../src/roll-ups.ts'

interface Scene {
  readonly rollUps: RollUps
  readonly passes: PromiseWithResolvers<boolean>[]
  readonly lines: string[]
}

function setUp(): Scene {
  const passes: PromiseWithResolvers<boolean>[] = []
  const lines: string[] = []
  const rollUp = (): Promise<boolean> => {
    const pass = Promise.withResolvers<boolean>()
    passes.push(pass)
    return pass.promise
  }
  const note: Log['note'] = (...words) => lines.push(JSON.stringify(words))
  const log: Log = { note, request() {}, flush() {} }
  return { rollUps: new RollUps({ rollUp }, log), passes, lines }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('goes on while rows are left, and begins no second pass beside the first', async () => {
  const { rollUps, passes } = setUp()
  rollUps.tick()
  rollUps.tick()
  expect(passes).toHaveLength(1)
  passes[0]!.resolve(true)
  await settle()
  expect(passes).toHaveLength(2)
  passes[1]!.resolve(false)
  await settle()
  expect(passes).toHaveLength(2)
  rollUps.tick()
  expect(passes).toHaveLength(3)
})

it('leaves the rest for the next second where there is very much', async () => {
  const { rollUps, passes } = setUp()
  rollUps.tick()
  for (let index = 0; index < passes.length; index += 1) {
    passes[index]!.resolve(true)
    await settle()
  }
  const once = passes.length
  expect(once).toBeLessThan(1000)
  rollUps.tick()
  expect(passes.length).toBeGreaterThan(once)
})

it('tells of a failure once, and tries again', async () => {
  const { rollUps, passes, lines } = setUp()
  for (let index = 0; index < 3; index += 1) {
    rollUps.tick()
    passes[index]!.reject(new Error('disk on fire'))
    await settle()
  }
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('disk on fire')
  rollUps.tick()
  passes[3]!.resolve(false)
  await settle()
  rollUps.tick()
  passes[4]!.reject(new Error('disk on fire'))
  await settle()
  expect(lines).toHaveLength(2)
})

it('ends with the pass under way', async () => {
  const { rollUps, passes } = setUp()
  rollUps.tick()
  let isOver = false
  const end = rollUps.stop().finally(() => {
    isOver = true
  })
  await settle()
  expect(isOver).toBe(false)
  passes[0]!.resolve(true)
  await end
  rollUps.tick()
  expect(passes).toHaveLength(1)
})
