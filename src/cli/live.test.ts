// Whom the command line believes to be a gateway, and what it makes of the answers: the root key is shown
// to nobody who has not answered as a gateway does.
import { describe, expect, it } from 'bun:test'
import { longest, tell } from '../../test/fakes/terminal.ts'

const AS_ROOT = { environment: { GATEWAY_KEY: 'svc_canary' } }

function serve(answer: (request: Request) => Response): Bun.Server<undefined> {
  return Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
}

describe('another server', () => {
  const OURS = { headers: { 'x-request-id': 'req_1' } }
  const KEYED = { id: 'key_1', key: 'svc-sk-1', data: [], object: 'list' }

  it.each([
    ['says yes to everything', () => Response.json({ status: 'ok', ...KEYED })],
    ['numbers its answers, too', () => Response.json(KEYED, OURS)],
    ['wants a key of its own', () => Response.json({ error: 'unauthorized' }, { status: 401 })],
    ['is a page', () => new Response('<html>', OURS)],
  ])('that %s is not shown the key', async (_case, answer) => {
    const seen: (string | null)[] = []
    using other = serve((request) => {
      seen.push(request.headers.get('authorization'))
      return answer()
    })
    for (const line of ['keys list', 'keys create --name a', 'calls', 'reload', 'models']) {
      const told = await tell([...line.split(' '), '--url', other.url.href], AS_ROOT)
      expect(told).toMatchObject({ code: 3, out: '' })
      expect(told.err).toContain('Something else than a gateway answers at')
    }
    expect(seen).toEqual([null, null, null, null, null])
  })

  it('that gives the health of a gateway and other answers ends with code 3', async () => {
    using other = serve(() => Response.json({ status: 'ok' }, OURS))
    for (const line of [
      'keys list',
      'keys show key_1',
      'calls',
      'calls show req_1',
      'reload',
      'models',
      'keys create --name a',
    ])
      expect(await tell([...line.split(' '), '--url', other.url.href], AS_ROOT)).toMatchObject({
        code: 3,
        out: '',
      })
  })
})

describe('a new key', () => {
  it('is shown although the gateway is gone before the models were asked for', async () => {
    using page = serve((request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/v1/models') return new Response('gone', { status: 502 })
      const value = pathname === '/health' ? { status: 'ok' } : { id: 'key_1', key: 'svc-sk-1' }
      return Response.json(value, { headers: { 'x-request-id': 'req_1' } })
    })
    const line = ['keys', 'create', '--name', 'a', '--regions', 'EU', '-q', '--url', page.url.href]
    expect(await tell(line, AS_ROOT)).toEqual({ code: 0, out: 'svc-sk-1\n', err: '' })
  })
})

describe('a reload', () => {
  it('shows all that was changed, wrapped to the window, and what was lost', async () => {
    const models = Array.from({ length: 30 }, (_, index) => `model-${index}`)
    const problem = 'The model x is no longer served: key_1 names it.'
    using page = serve((request) => {
      const answer = {
        applied: true,
        suppliers_changed: ['rack'],
        models_added: models,
        problems: [problem],
      }
      const value = request.url.endsWith('/health') ? { status: 'ok' } : answer
      return Response.json(value, { headers: { 'x-request-id': 'req_1' } })
    })
    const line = ['reload', '--allow-drop', '--url', page.url.href]
    const environment = { ...AS_ROOT.environment, NO_COLOR: '1' }
    const { out, err } = await tell(line, { environment, columns: 80 })
    expect(longest(out)).toBeLessThanOrEqual(80)
    expect(out).toMatch(/^Suppliers changed +rack$/m)
    expect(out).toContain('model-29')
    expect(out).not.toContain('Nothing has changed')
    expect(err).toContain(problem)
  })

  it('that was refused tells every problem, and what to do after them', async () => {
    const problems = ['The model x is no longer served.', 'The model y is no longer served.']
    const advice = 'Keep what is used, or insist on it.'
    const error = { code: 'configuration_error', message: 'no', problems, advice }
    using page = serve((request) =>
      request.url.endsWith('/health')
        ? Response.json({ status: 'ok' }, { headers: { 'x-request-id': 'req_1' } })
        : Response.json({ error }, { status: 400, headers: { 'x-request-id': 'req_1' } }),
    )
    const { code, err } = await tell(['reload', '--url', page.url.href], AS_ROOT)
    expect(code).toBe(6)
    expect(err).toMatch(/x is no longer served\.\s.*y is no longer served\.\s+Keep what is used/s)
    expect(err.split(advice)).toHaveLength(2)
  })
})

describe('an explanation', () => {
  const candidate = { candidate: 'one', model: 'm', region: 'EU', state: 'listed', place: 1 }
  const explanation = {
    object: 'explanation',
    verdict: 'would_be_sent',
    order: ['one', 'two'],
    attempts_max: 3,
    model: { asked: 'm', resolved: 'm', is_alias: false, policy: 'weight' },
    region: { effective: null, verdict: 'any' },
    session: { source: 'inferred', state: 'new', pinned_to: null },
    candidates: [
      { ...candidate, chance: 2 / 3 },
      { ...candidate, candidate: 'two', place: 2, chance: 1 / 3 },
      { ...candidate, candidate: 'three', place: null, state: 'outside_region', chance: null },
    ],
    money: null,
  }

  async function print(told: object): Promise<string> {
    using page = serve((request) => {
      const value = request.url.endsWith('/health') ? { status: 'ok' } : told
      return Response.json(value, { headers: { 'x-request-id': 'req_1' } })
    })
    const { out } = await tell(['explain', '--model', 'm', '--url', page.url.href], AS_ROOT)
    return out
  }

  it('tells how often each is drawn first, in attempts and not in suppliers', async () => {
    const out = await print(explanation)
    expect(out).toContain('and on failure to two: at most 3 attempts in all.')
    expect(out).toMatch(/^ +1 +one +66\.7 % +m /m)
    expect(out).toMatch(/^ +2 +two +33\.3 % +m /m)
    expect(out).toMatch(/^ +three +m +EU +outside_region/m)
    expect(out).toMatch(/^Session +new, inferred from its body$/m)
  })

  it.each([
    [
      'what was chosen',
      { asked: 'auto', resolved: 'small' },
      'auto, which chooses small; its suppliers by weight',
    ],
    ['that nothing was', { asked: 'auto', resolved: null, policy: null }, 'auto'],
    [
      'a name for another model',
      { asked: 'auto', resolved: 'm', is_alias: true },
      'auto, which means m, by weight',
    ],
    ['a model of that name', { asked: 'auto', resolved: 'auto' }, 'auto, by weight'],
    ['one supplier of a model', { asked: 'one/m', resolved: 'm' }, 'one/m, by weight'],
  ])('tells of the model %s', async (_, model, told) => {
    const out = await print({ ...explanation, model: { ...explanation.model, ...model } })
    expect(out.match(/^Model +(.*)$/m)?.[1]).toBe(told)
  })

  it('has no chances where nothing is drawn', async () => {
    const out = await print({ ...explanation, candidates: [{ ...candidate, chance: null }] })
    expect(out).not.toContain('CHANCE')
    expect(out).toMatch(/^ +1 +one +m +EU +listed/m)
  })
})
