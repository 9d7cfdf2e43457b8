// The one clock of the process: it ticks while someone listens, tells everyone, and lets the process end.
import { describe, expect, it } from 'bun:test'
import { createSystemClock } from './clock.ts'

describe('the system clock', () => {
  it('ticks for every listener until each of them stops', async () => {
    const clock = createSystemClock()
    const heard: string[] = []
    await new Promise<void>((resolve) => {
      const first = clock.everySecond({
        tick() {
          heard.push('first')
          // Stopping in the middle of a tick must not cost the next one its turn.
          first.leave()
        },
      })
      const second = clock.everySecond({
        tick() {
          heard.push('second')
          second.leave()
          resolve()
        },
      })
    })
    expect(heard).toEqual(['first', 'second'])
  })

  it('tells wall time and a time that only grows', () => {
    const clock = createSystemClock()
    const before = Date.now()
    const start = clock.elapsed()
    expect(clock.now()).toBeGreaterThanOrEqual(before)
    expect(clock.elapsed()).toBeGreaterThanOrEqual(start)
  })

  it('keeps no process alive for listeners that have stopped', async () => {
    const source = `
      import { createSystemClock } from ${JSON.stringify(import.meta.resolve('./clock.ts'))}
      createSystemClock().everySecond({ tick() {} }).leave()`
    const child = Bun.spawn([process.execPath, '-e', source])
    expect(await child.exited).toBe(0)
  })
})
