// What is left to one credential, from what its answers tell to when that is over.
import { describe, expect, it } from 'bun:test'
import { Quota } from './quota.ts'

describe('what is left to a credential', () => {
  it('counts as all while nobody has told anything', () => {
    const quota = new Quota()
    expect(quota.share(0)).toBe(1)
    quota.note([], 0)
    quota.note([{ share: undefined, resetMs: 9000 }], 0)
    expect(quota.share(1)).toBe(1)
  })

  it('is the least of its limits, each until it is whole again', () => {
    const quota = new Quota()
    quota.note(
      [
        { share: 0.1, resetMs: 2000 },
        { share: 0.5, resetMs: 60_000 },
        { share: 0.9, resetMs: 300_000 },
      ],
      1000,
    )
    expect([1000, 2999, 3000, 60_999, 61_000, 301_000].map((now) => quota.share(now))).toEqual([
      0.1, 0.1, 0.5, 0.5, 0.9, 1,
    ])
  })

  it('is never nothing, so that one that is spent is asked last and not never', () => {
    const quota = new Quota()
    quota.note([{ share: 0, resetMs: 5000 }], 0)
    expect(quota.share(0)).toBeGreaterThan(0)
    expect(quota.share(0)).toBeLessThan(0.05)
    expect(quota.share(5000)).toBe(1)
  })

  it('is taken for that of a minute where nobody says when it is whole again', () => {
    const quota = new Quota()
    quota.note([{ share: 0.2, resetMs: undefined }], 0)
    expect([quota.share(59_999), quota.share(60_000)]).toEqual([0.2, 1])
  })

  it('is what the latest answer tells, and one that tells nothing changes nothing', () => {
    const quota = new Quota()
    quota.note([{ share: 0.2, resetMs: 9000 }], 0)
    quota.note([], 1)
    expect(quota.share(1)).toBe(0.2)
    quota.note([{ share: 0.7, resetMs: 9000 }], 2)
    expect(quota.share(2)).toBe(0.7)
    quota.note([{ share: 0.7, resetMs: 0 }], 3)
    expect(quota.share(3)).toBe(1)
  })
})
