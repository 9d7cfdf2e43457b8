// Who gets a place for an answer that outlives its caller: everyone in turn, and nobody all of them.
import { describe, expect, it } from 'bun:test'
import type { Place } from '../core/chain.ts'
import { Drains } from './drains.ts'

/** As many places as an account gets. */
function takeAll(drains: Drains, accountId: string): readonly Place[] {
  const places: Place[] = []
  for (let place = drains.join(accountId); place !== undefined; place = drains.join(accountId))
    places.push(place)
  return places
}

describe('the places of answers that outlive their callers', () => {
  it('are half for an account that is alone with its wishes, and the rest for others', () => {
    const drains = new Drains()
    const greedy = takeAll(drains, 'acc_a')
    expect(greedy).toHaveLength(64)
    expect(takeAll(drains, 'acc_b')).toHaveLength(32)
    expect(drains.join('acc_c')).toBeDefined()
  })

  it('come back when they are left', () => {
    const drains = new Drains()
    for (const place of takeAll(drains, 'acc_a')) place.leave()
    expect(takeAll(drains, 'acc_b')).toHaveLength(64)
  })
})
