// Who waits in line, for how long, and who goes on when money becomes free.
import { describe, expect, it } from 'bun:test'
import { createFakeClock, type FakeClock } from '../../test/fakes/clock.ts'
import { Lines } from './line.ts'

const WAITING_MAX = 512

/** Callers who each need so much of what becomes free. */
class Street {
  readonly clock: FakeClock = createFakeClock()
  readonly lines = new Lines(this.clock)
  readonly served: string[] = []
  readonly gone: string[] = []
  free = 0

  join(name: string, needs = 1, keyId = 'key_1'): boolean {
    return this.lines.join([keyId], {
      retry: () => {
        if (needs > this.free) return [keyId]
        this.free -= needs
        this.served.push(name)
        return undefined
      },
      giveUp: () => void this.gone.push(name),
    })
  }

  release(amount: number, keyId = 'key_1'): void {
    this.free += amount
    this.lines.wake(keyId)
  }
}

describe('a line', () => {
  it('is served in the order in which it was joined', () => {
    const street = new Street()
    for (const name of ['a', 'b', 'c', 'd']) street.join(name)
    street.release(1)
    street.release(2)
    expect(street.served).toEqual(['a', 'b', 'c'])
  })

  it('is not held up by one who asks for much', () => {
    const street = new Street()
    street.join('much', 10)
    street.join('little', 1)
    street.release(1)
    expect(street.served).toEqual(['little'])
    street.release(10)
    expect(street.served).toEqual(['little', 'much'])
  })

  it('keeps nobody longer than a second', () => {
    const street = new Street()
    street.join('early')
    street.clock.advance(400)
    street.join('late')
    street.clock.advance(599)
    expect(street.gone).toEqual([])
    street.clock.advance(1)
    expect(street.gone).toEqual(['early'])
    street.clock.advance(400)
    expect(street.gone).toEqual(['early', 'late'])
  })

  it('forgets who was served, and who gave up', () => {
    const street = new Street()
    street.join('served')
    street.release(1)
    street.join('tired')
    street.clock.advance(5000)
    street.release(5)
    expect(street.served).toEqual(['served'])
    expect(street.gone).toEqual(['tired'])
    expect(street.clock.listeners()).toBe(0)
  })

  it('is one of each key', () => {
    const street = new Street()
    street.join('a', 1, 'key_1')
    street.join('b', 1, 'key_2')
    street.release(2, 'key_2')
    expect(street.served).toEqual(['b'])
    street.lines.wake('key_3')
    expect(street.served).toEqual(['b'])
  })

  it('can be joined by so many and no more, and again when it is shorter', () => {
    const street = new Street()
    for (let place = 0; place < WAITING_MAX; place++)
      expect(street.join(`caller ${place}`)).toBe(true)
    expect(street.join('one too many')).toBe(false)
    expect(street.join('of another key', 1, 'key_2')).toBe(true)
    street.release(1)
    expect(street.join('after one was served')).toBe(true)
    expect(street.join('one too many')).toBe(false)
    street.clock.advance(1000)
    expect(street.gone).toHaveLength(WAITING_MAX + 1)
    expect(street.gone).not.toContain('one too many')
    expect(street.join('after all gave up')).toBe(true)
    street.release(1)
    expect(street.served.at(-1)).toBe('after all gave up')
  })
})

describe('one who stands in several lines', () => {
  it('is served by whichever moves first, and then stands in none', () => {
    const { clock, lines } = new Street()
    let free = ''
    let served = 0
    const retry = (): readonly string[] | undefined => {
      if (free === '') return ['key_1', 'wal_1']
      served += 1
      return undefined
    }
    lines.join(['key_1', 'wal_1'], { retry, giveUp: () => void (served = -1) })
    lines.wake('key_1')
    free = 'wal_1'
    lines.wake('wal_1')
    lines.wake('key_1')
    clock.advance(2000)
    expect([served, clock.listeners()]).toEqual([1, 0])
  })

  it('goes on to another line when it is no longer the first that keeps it out', () => {
    const { lines } = new Street()
    let names: readonly string[] | undefined = ['key_1']
    let looks = 0
    const retry = (): readonly string[] | undefined => {
      looks += 1
      return names
    }
    lines.join(['key_1'], { retry, giveUp: () => {} })
    names = ['wal_1']
    lines.wake('key_1')
    lines.wake('key_1')
    expect(looks).toBe(1)
    names = undefined
    lines.wake('wal_1')
    expect(looks).toBe(2)
  })

  it('stands in none where it cannot join all of them, and is never asked again', () => {
    const street = new Street()
    for (let index = 0; index < WAITING_MAX; index++) street.join(String(index), 1, 'wal_1')
    let looks = 0
    const retry = (): undefined => void (looks += 1)
    expect(street.lines.join(['key_1', 'wal_1'], { retry, giveUp: () => {} })).toBe(false)
    street.lines.wake('key_1')
    expect(looks).toBe(0)
  })

  it('is told to come back where one of them is full', () => {
    const street = new Street()
    for (let index = 0; index < WAITING_MAX; index++) street.join(String(index), 1, 'wal_1')
    let hasGone = false
    const waiting = { retry: () => ['key_1', 'wal_1'], giveUp: () => void (hasGone = true) }
    expect(street.lines.join(['key_1', 'wal_1'], waiting)).toBe(false)
    expect(street.lines.join(['key_1'], waiting)).toBe(true)
    street.lines.wake('key_1')
    expect(hasGone).toBe(true)
  })
})
