// However often a database is asked whether it answers, it hears of it once a second.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { createPing } from './ping.ts'

describe('a ping', () => {
  it('asks once for all who want to know at the same time, however long that takes', async () => {
    const clock = createFakeClock()
    const { promise, resolve } = Promise.withResolvers<void>()
    let asked = 0
    const ping = createPing(() => {
      asked += 1
      return promise
    }, clock)
    const pings = Array.from({ length: 1500 }, () => ping())
    clock.advance(60_000)
    pings.push(ping())
    resolve()
    await Promise.all(pings)
    expect(asked).toBe(1)
  })

  it('remembers its answer for a second, also a bad one, and then asks again', async () => {
    const clock = createFakeClock()
    let asked = 0
    let isBroken = true
    const ping = createPing(() => {
      asked += 1
      if (isBroken) throw new Error('no disk')
    }, clock)
    expect(ping()).rejects.toThrow('no disk')
    await ping().catch(() => {})
    isBroken = false
    clock.advance(999)
    expect(ping()).rejects.toThrow('no disk')
    expect(asked).toBe(1)
    clock.advance(1)
    await ping()
    isBroken = true
    clock.advance(999)
    await ping()
    expect(asked).toBe(2)
    clock.advance(1)
    expect(ping()).rejects.toThrow('no disk')
    expect(asked).toBe(3)
  })
})
