// Who gets one of few places: everyone in turn, and nobody all of them.
import { describe, expect, it } from 'bun:test'
import type { Place } from './chain.ts'
import { Places } from './places.ts'

/** As many places as an owner gets. */
function takeAll(places: Places, ownerId: string): readonly Place[] {
  const taken: Place[] = []
  for (let place = places.join(ownerId); place !== undefined; place = places.join(ownerId))
    taken.push(place)
  return taken
}

describe('places', () => {
  it('are half for who is alone with its wishes, and the rest for others', () => {
    const places = new Places(128)
    expect(takeAll(places, 'acc_a')).toHaveLength(64)
    expect(takeAll(places, 'acc_b')).toHaveLength(32)
    expect(places.join('acc_c')).toBeDefined()
  })

  it('come back when they are left', () => {
    const places = new Places(128)
    for (const place of takeAll(places, 'acc_a')) place.leave()
    expect(takeAll(places, 'acc_b')).toHaveLength(64)
  })
})
