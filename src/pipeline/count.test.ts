// What calls teach about counting: those that say something are compared with a count of ours, the others are left
// alone, and nobody who waits for a count waits for a lesson.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { NO_LOAD, type Load } from '../core/load.ts'
import { Calibration } from '../ledger/cost/calibration.ts'
import { createCounter, type Counter } from '../ledger/cost/counter.ts'
import type { Usage } from '../core/usage.ts'
import type { Held, Plant } from './call.ts'
import { sampleUsage } from './count.ts'

const opened: Counter[] = []
afterEach(() => {
  for (const counter of opened.splice(0)) counter.close()
})

interface Stage {
  readonly plant: Plant
  readonly calibration: Calibration
  /** Resolves when all that was asked so far has been counted. */
  readonly settled: () => Promise<void>
}

function setStage(isWanted = true): Stage {
  const clock = createFakeClock()
  const counter = createCounter({ clock })
  opened.push(counter)
  const calibration = new Calibration()
  if (isWanted) calibration.want(clock.elapsed())
  const plant: unknown = { clock, counter, calibration }
  return {
    plant: plant as Plant,
    calibration,
    settled: async () => {
      await counter.measure(new Uint8Array(0), NO_LOAD, undefined, 'key_1')
    },
  }
}

const WORDS = `"${' word'.repeat(1000)}"`

function callOf(text: string, changes: Partial<Load> = {}): Held {
  const body = new TextEncoder().encode(text)
  const attempt = { modelId: 'm', route: { limits: undefined } }
  const load = { ...NO_LOAD, bytes: body.length, messages: 1, ...changes }
  const call: unknown = { body, facts: { load }, tries: [{ attempt }] }
  return call as Held
}

const USAGE = { inputTokens: 1500 } as Usage

describe('a call that has ended', () => {
  it('teaches by what its supplier has read', async () => {
    const { plant, calibration, settled } = setStage()
    sampleUsage(callOf(WORDS), USAGE, plant)
    await settled()
    expect(calibration.factor('m', true)).toBeCloseTo(1.5, 1)
  })

  it('teaches nothing, and starts no Worker, where nobody asks for counts', () => {
    const { plant } = setStage(false)
    sampleUsage(callOf(WORDS), USAGE, plant)
    expect(plant.counter.isIdle()).toBe(true)
  })

  it.each([
    ['an image', { images: 1 }],
    ['sound', { audioBytes: 1 }],
    ['a document', { inline: [{ from: 1, to: 2 }] }],
    ['a file elsewhere', { elsewhere: 'file_id' }],
    ["the supplier's own tools", { unbounded: 'web_search' }],
  ])('teaches nothing with %s, which is no text', async (_title, changes) => {
    const { plant, calibration, settled } = setStage()
    sampleUsage(callOf(WORDS, changes), USAGE, plant)
    await settled()
    expect(calibration.factor('m', true)).toBe(1)
  })

  it('teaches nothing where it is short, and not even a Worker is started', () => {
    const { plant } = setStage()
    sampleUsage(callOf('"Hello"'), USAGE, plant)
    expect(plant.counter.isIdle()).toBe(true)
  })

  it('teaches nothing while somebody is counted for', async () => {
    const { plant, calibration, settled } = setStage()
    const waiting = settled()
    sampleUsage(callOf(WORDS), USAGE, plant)
    await waiting
    await settled()
    expect(calibration.factor('m', true)).toBe(1)
  })

  it('teaches nothing where nobody was asked', () => {
    const { plant } = setStage()
    sampleUsage({ ...callOf(WORDS), tries: [] }, USAGE, plant)
    expect(plant.counter.isIdle()).toBe(true)
  })

  it('teaches nothing after the end, and breaks nothing', () => {
    const { plant, calibration } = setStage()
    plant.counter.close()
    sampleUsage(callOf(WORDS), USAGE, plant)
    expect(calibration.factor('m', true)).toBe(1)
  })
})
