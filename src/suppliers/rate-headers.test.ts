// What suppliers say of their limits, as they are known to say it, and what a hostile one could say.
import { describe, expect, it } from 'bun:test'
import { RateReader, readWait } from './rate-headers.ts'

const NOW = Date.UTC(2026, 0, 15, 12)

function answer(headers: Readonly<Record<string, string>>, status = 200): Response {
  return new Response('{}', { status, headers })
}

function read(headers: Readonly<Record<string, string>>): readonly unknown[] {
  return new RateReader().read(answer(headers), NOW)
}

function of(
  name: string,
  values: readonly [limit: string, remaining: string, reset: string],
): Readonly<Record<string, string>> {
  const [limit, remaining, reset] = values
  return {
    [`x-ratelimit-limit-${name}`]: limit,
    [`x-ratelimit-remaining-${name}`]: remaining,
    [`x-ratelimit-reset-${name}`]: reset,
  }
}

function plan(window: string, used: string, reset: string): Readonly<Record<string, string>> {
  return {
    [`x-codex-${window}-used-percent`]: used,
    [`x-codex-${window}-window-minutes`]: '300',
    [`x-codex-${window}-reset-after-seconds`]: reset,
  }
}

describe('what is left of a supplier limit', () => {
  it('is read from each family of headers', () => {
    const rows: readonly [Readonly<Record<string, string>>, readonly unknown[]][] = [
      [
        {
          ...of('requests', ['5000', '4000', '12ms']),
          ...of('tokens', ['160000', '40000', '6m0s']),
        },
        [
          { share: 0.8, resetMs: 12 },
          { share: 0.25, resetMs: 300_000 },
        ],
      ],
      [of('tokens', ['18000', '9000', '7.66s']), [{ share: 0.5, resetMs: 7660 }]],
      [of('requests', ['10', '5', '1m30s']), [{ share: 0.5, resetMs: 90_000 }]],
      [of('requests', ['10', '5', '1s500ms']), [{ share: 0.5, resetMs: 1500 }]],
      [of('requests', ['10', '5', '20']), [{ share: 0.5, resetMs: 20_000 }]],
      [
        { 'x-ratelimit-limit-req-minute': '720', 'x-ratelimit-remaining-req-minute': '180' },
        [{ share: 0.25, resetMs: undefined }],
      ],
      [
        {
          ...of('requests-day', ['1000', '999', '33011.382867097855']),
          ...of('tokens-minute', ['1000', '100', '11.5']),
        },
        [
          { share: 0.999, resetMs: 300_000 },
          { share: 0.1, resetMs: 11_500 },
        ],
      ],
      [
        {
          'anthropic-ratelimit-requests-limit': '1000',
          'anthropic-ratelimit-requests-remaining': '999',
          'anthropic-ratelimit-requests-reset': '2026-01-15T11:59:59Z',
          'anthropic-ratelimit-output-tokens-limit': '16000',
          'anthropic-ratelimit-output-tokens-remaining': '4000',
          'anthropic-ratelimit-output-tokens-reset': '2026-01-15T12:00:30Z',
        },
        [
          { share: 0.999, resetMs: 0 },
          { share: 0.25, resetMs: 30_000 },
        ],
      ],
      [
        { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '10', 'x-ratelimit-reset': '5' },
        [{ share: 0.5, resetMs: 5000 }],
      ],
      [
        { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 9000) },
        [{ share: 0, resetMs: 9000 }],
      ],
      [
        { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 + 9) },
        [{ share: 0, resetMs: 9000 }],
      ],
      [
        {
          'ratelimit-limit': '100, 100;w=60',
          'ratelimit-remaining': '30',
          'ratelimit-reset': '50',
        },
        [{ share: 0.3, resetMs: 50_000 }],
      ],
      [
        {
          ratelimit: '"burst";r=5;t=3, "day"; r=90; t=4000',
          'ratelimit-policy': '"day";q=100;w=86400, "burst";q=10;w=10',
        },
        [
          { share: 0.5, resetMs: 3000 },
          { share: 0.9, resetMs: 300_000 },
        ],
      ],
      [{ ratelimit: 'limit=100, remaining=40, reset=7' }, [{ share: 0.4, resetMs: 7000 }]],
      [
        { ...plan('primary', '75', '90'), ...plan('secondary', '100.0', '600000') },
        [
          { share: 0.25, resetMs: 90_000 },
          { share: 0, resetMs: 300_000 },
        ],
      ],
      [
        {
          'x-codex-primary-used-percent': '50',
          'x-codex-primary-reset-at': String(NOW / 1000 + 9),
        },
        [{ share: 0.5, resetMs: 9000 }],
      ],
      [{ 'x-codex-secondary-used-percent': '250' }, [{ share: 0, resetMs: undefined }]],
    ]
    for (const [headers, limits] of rows)
      expect([headers, read(headers)]).toEqual([headers, limits])
  })

  it('is unknown where what is told makes no sense', () => {
    const unknown = { share: undefined, resetMs: undefined }
    const senseless = [
      '',
      '-1',
      '-0',
      'NaN',
      'Infinity',
      '1e300',
      '0x10',
      'many',
      '9'.repeat(10_000),
    ]
    for (const value of senseless) {
      expect([value, read(of('requests', [value, value, value]))]).toEqual([value, [unknown]])
      const ietf = { ratelimit: `"a";r=${value};t=${value}`, 'ratelimit-policy': `"a";q=${value}` }
      expect([value, read(ietf)]).toEqual([value, [unknown]])
      expect([value, read(plan('primary', value, value))]).toEqual([value, [unknown]])
    }
    // So one of them answers where no limit is known.
    expect(read(of('tokens', ['-1', '-1', '0']))).toEqual([{ share: undefined, resetMs: 0 }])
    expect(read(of('tokens', ['0', '5', '1s']))).toEqual([{ share: undefined, resetMs: 1000 }])
    expect(read(of('tokens', ['5', '50', '1s']))).toEqual([{ share: 1, resetMs: 1000 }])
    expect(read({})).toEqual([])
  })

  it('is that of the first where a header came twice', () => {
    expect(read(of('requests', ['10, 20', '5, 0', '1s, 9s']))).toEqual([
      { share: 0.5, resetMs: 1000 },
    ])
  })

  it('is bounded however long the list is', () => {
    const list = Array.from({ length: 100_000 }, (_, index) => `"${index}";r=1;t=1`).join(',')
    expect(read({ ratelimit: list, 'ratelimit-policy': list }).length).toBeLessThanOrEqual(4)
  })
})

describe('a reader of one account', () => {
  const plain = { 'x-ratelimit-limit': '4', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '5' }
  const other = of('requests', ['4', '3', '5'])
  const told = [{ share: 0.25, resetMs: 5000 }]

  it('keeps to the names that it has found, until the supplier refuses a call', () => {
    const reader = new RateReader()
    expect(reader.read(answer(plain), NOW)).toEqual(told)
    expect(reader.read(answer(other), NOW)).toEqual([])
    expect(reader.read(answer({ ...other, ...plain }), NOW)).toEqual(told)
    expect(reader.read(answer(other, 429), NOW)).toEqual([{ share: 0.75, resetMs: 5000 }])
    expect(reader.read(answer(plain), NOW)).toEqual([])
  })

  it('gives up on a supplier that tells nothing, until that refuses a call', () => {
    const reader = new RateReader()
    for (let count = 0; count < 16; count++) expect(reader.read(answer({}), NOW)).toEqual([])
    expect(reader.read(answer(plain), NOW)).toEqual([])
    expect(reader.read(answer(plain, 429), NOW)).toEqual(told)
    expect(reader.read(answer(plain), NOW)).toEqual(told)
  })
})

describe('the pause that a refusal asks for', () => {
  const wait = (headers: Readonly<Record<string, string>>, status = 429): number | undefined =>
    readWait(answer(headers, status), NOW)

  it('is what Retry-After says, in any of its forms', () => {
    for (const status of [429, 503]) {
      expect(wait({ 'retry-after': '7' }, status)).toBe(7000)
      expect(wait({ 'retry-after': '0.5' }, status)).toBe(500)
      expect(wait({ 'retry-after': '7, 9' }, status)).toBe(7000)
      expect(wait({ 'retry-after': new Date(NOW + 8000).toUTCString() }, status)).toBe(8000)
      expect(wait({ 'retry-after': new Date(NOW - 8000).toUTCString() }, status)).toBe(0)
      expect(wait({ 'retry-after-ms': '250', 'retry-after': '1' }, status)).toBe(250)
      expect(wait({ 'retry-after-ms': 'soon', 'retry-after': '1' }, status)).toBe(1000)
    }
  })

  it('is never longer than five minutes, whatever is said', () => {
    const long = ['3600', '999999999999999', String(NOW * 2), '40000h', '2999-01-01T00:00:00Z']
    for (const value of long) {
      expect([value, wait({ 'retry-after': value })]).toEqual([value, 300_000])
      expect([value, wait(of('requests', ['9', '0', value]))]).toEqual([value, 300_000])
    }
    expect(wait({ 'retry-after-ms': '999999999999' })).toBe(300_000)
  })

  it('is unsaid where nothing sensible is said', () => {
    for (const value of [
      '',
      '-5',
      'NaN',
      'Infinity',
      '1e300',
      'soon',
      '5 apples',
      '7'.repeat(100_000),
    ]) {
      expect([value, wait({ 'retry-after': value })]).toEqual([value, undefined])
      expect([value, wait({ 'retry-after-ms': value })]).toEqual([value, undefined])
      expect([value, wait({ 'x-ratelimit-reset': value })]).toEqual([value, undefined])
    }
    expect(wait({})).toBeUndefined()
  })

  it('is until the limit that is spent is whole again, without Retry-After', () => {
    const requests = of('requests', ['100', '90', '40s'])
    expect(wait({ ...requests, ...of('tokens', ['1000', '0', '2s']) })).toBe(2000)
    expect(wait({ ...requests, ...of('tokens', ['1000', '20', '3s']) })).toBe(3000)
    expect(wait({ ...of('requests', ['9', '0', '5s']), ...of('tokens', ['9', '0', '2s']) })).toBe(
      5000,
    )
    expect(wait({ 'x-ratelimit-reset': '6' })).toBe(6000)
    expect(wait({ ...of('tokens', ['9', '0', '2s']), 'retry-after': '1' })).toBe(1000)
    expect(wait({ ...plan('primary', '100', '40'), ...plan('secondary', '60', '250') })).toBe(
      40_000,
    )
  })

  it('is unsaid where no limit is spent: one large request must not close the way for all', () => {
    expect(wait(of('tokens', ['1000', '900', '40s']))).toBeUndefined()
    expect(wait(of('tokens', ['-1', '-1', '0']))).toBeUndefined()
  })

  it('is not read out of limits where the supplier fails for another reason', () => {
    expect(wait(of('requests', ['9', '0', '5s']), 503)).toBeUndefined()
  })
})
