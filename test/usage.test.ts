// Usage as its readers meet it: over HTTP and on the command line, against the audit rows that it is made of,
// across the end of a day and a month, and across a restart.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HOUR_MS } from '../src/core/hour.ts'
import { parseUsd } from '../src/core/money.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { good, refuse, until } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'
import { tenantAt } from './fakes/tenants.ts'
import { tell } from './fakes/terminal.ts'

type Json = Readonly<Record<string, unknown>>

interface Usage {
  readonly from: string
  readonly to: string
  readonly data: readonly Json[]
  readonly totals: Json
  readonly has_more: boolean
  readonly next_cursor: string | null
}

const START = Date.UTC(2026, 0, 31, 21, 40)
const DAY_MS = 24 * HOUR_MS

let folder: string
let suppliers: readonly FakeSupplier[]
let clock: FakeClock
let gateway: Gateway

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'usage-'))
  clock = createFakeClock(START)
  suppliers = [
    await startFakeSupplier(good),
    await startFakeSupplier(refuse(400, { message: 'no', code: 'bad_thing' })),
  ]
  gateway = await open()
  await makeTenants()
  await drive(createDice(42))
})

afterAll(async () => {
  await gateway.stop()
  for (const supplier of suppliers) await supplier.stop()
  rmSync(folder, { recursive: true })
})

function open(): Promise<Gateway> {
  const [sound, broken] = suppliers.map(({ origin }, index) => {
    const { models, ...supplier } = supplierAt(
      origin,
      index === 0 ? {} : { id: 'broken', region: 'US' },
    )
    const route = models.get('test-model')!
    const names = index === 0 ? ['test-model', 'other'] : ['broken']
    return { ...supplier, models: new Map(names.map((name) => [name, route])) }
  })
  return startGateway({
    clock,
    suppliers: [sound!, broken!],
    environment: { GATEWAY_DATA: folder },
  })
}

/** The same numbers in every run. */
function createDice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

type Dice = ReturnType<typeof createDice>

const ids: Record<string, string> = {}
const secrets: Record<string, string> = {}

async function make(name: string, path: string, body: object): Promise<void> {
  const response = await gateway.manage('POST', path, { name, ...body })
  const made = (await response.json()) as { id: string; key?: string }
  expect([name, response.status]).toEqual([name, 200])
  ids[name] = made.id
  if (made.key !== undefined) secrets[name] = made.key
}

/** Two projects, one of them in two teams, and what calls for them. */
async function makeTenants(): Promise<void> {
  for (const name of ['alpha', 'beta']) await make(name, '/projects', {})
  await make('both', '/teams', { project_ids: [ids['alpha'], ids['beta']] })
  await make('single', '/teams', { project_ids: [ids['alpha']] })
  await make('alpha key', '/keys', { project_id: ids['alpha'] })
  await make('beta key', '/keys', { project_id: ids['beta'] })
  await make('free key', '/keys', {})
  await make('poor key', '/keys', { budget_limit: 0 })
  await make('alpha token', '/tokens', { project_id: ids['alpha'], manage: true })
  await make('both token', '/tokens', { team_id: ids['both'], manage: true })
}

const CALLERS = ['alpha key', 'beta key', 'free key', 'poor key', 'alpha token', 'both token']
const MODELS = ['test-model', 'test-model', 'other', 'broken', 'nowhere']

async function callOnce(dice: Dice): Promise<void> {
  const response = await gateway.chat(
    {
      model: MODELS[dice(MODELS.length)],
      messages: [{ role: 'user', content: 'Hello '.repeat(1 + dice(20)) }],
      ...(dice(2) === 0 ? { stream: true } : {}),
    },
    { headers: { authorization: `Bearer ${secrets[CALLERS[dice(CALLERS.length)]!]}` } },
  )
  await response.text()
}

/** Hours of calls, over the end of January, with a restart. */
async function drive(dice: Dice): Promise<void> {
  for (let round = 0; round < 40; round += 1) {
    await Promise.all(Array.from({ length: 1 + dice(5) }, () => callOnce(dice)))
    // With a tick at its end, which has calls added up beside the next ones.
    clock.sleep((4 + dice(14)) * 60_000)
    if (round !== 25) continue
    await gateway.drain()
    gateway = await open()
  }
}

async function get(query: string, secret = ROOT_KEY): Promise<Response> {
  return fetch(`${gateway.url}/v1/manage/usage${query}`, {
    headers: { authorization: `Bearer ${secret}` },
  })
}

async function ask(query: string, secret = ROOT_KEY): Promise<Usage> {
  const response = await get(query, secret)
  expect(response.status).toBe(200)
  return (await response.json()) as Usage
}

interface Row {
  readonly hour: number
  readonly key_id: string
  readonly project_id: string | null
  readonly payer: string | null
  readonly model: string | null
  readonly supplier: string | null
  readonly region: string | null
  readonly code: string | null
  readonly status: number
  readonly state: string
  readonly count: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number
  readonly overrun: number
}

/** Every audit row as it stands in the database. */
function readRows(): readonly Row[] {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  const rows = database
    .query<Row & { at: number }, []>(
      `SELECT audit.*, keys.name AS key_id, payers.name AS payer FROM audit
       JOIN names AS keys ON keys.number = audit.key
       LEFT JOIN names AS payers ON payers.number = audit.payer`,
    )
    .all()
  database.close()
  return rows.map((row) => ({
    ...row,
    hour: row.hour ?? Math.floor(row.at / HOUR_MS),
    payer: row.payer === null ? null : (JSON.parse(row.payer) as { wallet: string }).wallet,
    model: row.state === 'refused' ? null : row.model,
  }))
}

const FIGURES = ['calls', 'refused', 'failed', 'input_tokens', 'output_tokens'] as const

function sumsOf(rows: readonly Row[]): Json {
  const held = rows.filter(({ state }) => state !== 'refused')
  const sum = (pick: (row: Row) => number | null): number =>
    held.reduce((total, row) => total + (pick(row) ?? 0), 0)
  return {
    calls: held.length,
    refused: rows.reduce((total, { state, count }) => total + (state === 'refused' ? count : 0), 0),
    failed: sum(({ code, status }) => (code !== null || status !== 200 ? 1 : 0)),
    input_tokens: sum((row) => row.input_tokens),
    output_tokens: sum((row) => row.output_tokens),
    cost: sum((row) => row.cost),
    overrun: sum((row) => row.overrun),
  }
}

function figuresOf(entry: Json): Json {
  return {
    ...Object.fromEntries(FIGURES.map((name) => [name, entry[name]])),
    cost: Number(parseUsd(entry['cost_usd'] as number)),
    overrun: Number(parseUsd(entry['overrun_usd'] as number)),
  }
}

type Field = 'key_id' | 'project_id' | 'payer' | 'model' | 'supplier' | 'region' | 'code'

const PARTS: readonly (readonly [by: string, field: Field])[] = [
  ['key', 'key_id'],
  ['project', 'project_id'],
  ['payer', 'payer'],
  ['model', 'model'],
  ['supplier', 'supplier'],
  ['region', 'region'],
  ['code', 'code'],
]

const SPAN_MS: Readonly<Record<string, number>> = { hour: HOUR_MS, day: DAY_MS }

function expectSums(usage: Usage, per: string, fields: readonly Field[]): void {
  const rows = readRows()
  const counted = usage.data.flatMap((entry) => {
    const from = Date.parse(String(entry['start'])) / HOUR_MS
    const to = Date.parse(String(entry['end'])) / HOUR_MS
    if (per !== 'total') expect((to - from) * HOUR_MS).toBeLessThanOrEqual(SPAN_MS[per]!)
    const own = rows.filter(
      (row) =>
        row.hour >= from && row.hour < to && fields.every((field) => row[field] === entry[field]),
    )
    expect(figuresOf(entry)).toEqual(sumsOf(own))
    return own
  })
  expect(counted).toHaveLength(rows.length)
  expect(new Set(counted).size).toBe(rows.length)
  expect(figuresOf(usage.totals)).toEqual(sumsOf(rows))
}

describe('figures', () => {
  it('are made of calls of every kind, of two days and two months', () => {
    const rows = readRows()
    const states = new Set(rows.map(({ state, code }) => `${state} ${code === null}`))
    for (const kind of ['settled true', 'voided false', 'refused false'])
      expect(states).toContain(kind)
    const days = new Set(
      rows.map(({ hour }) => new Date(hour * HOUR_MS).toISOString().slice(0, 10)),
    )
    expect([...days].toSorted()).toEqual(['2026-01-31', '2026-02-01'])
    expect(rows.some(({ payer }) => payer !== null)).toBe(true)
  })

  it.each(['hour', 'day', 'total'])('per %s are the sums of the audit', async (per) => {
    expectSums(await ask(`?per=${per}&limit=1000`), per, [])
    for (const [by, field] of PARTS)
      expectSums(await ask(`?per=${per}&by=${by}&limit=1000`), per, [field])
    const all = PARTS.map(([by]) => by).join(',')
    expectSums(
      await ask(`?per=${per}&by=${all}&limit=1000`),
      per,
      PARTS.map(([, field]) => field),
    )
  })

  it('are the same once calls are added up, and those of the next call are there at once', async () => {
    const mark = (): number => {
      const database = new Database(join(folder, 'gateway.db'), { readonly: true })
      const sql = `SELECT (SELECT max(sequence) FROM audit) - (value ->> '$.number') AS left
        FROM marks WHERE name = 'usage'`
      const { left } = database.query<{ left: number }, []>(sql).get()!
      database.close()
      return left
    }
    await until(() => {
      clock.advance(1000)
      return mark() === 0
    })
    expectSums(await ask('?per=hour&by=key,model&limit=1000'), 'hour', ['key_id', 'model'])
    await callOnce(createDice(1))
    expectSums(await ask('?per=hour&by=key,model&limit=1000'), 'hour', ['key_id', 'model'])
  })

  it('come in pages that together are all, with the totals of all on each', async () => {
    const whole = await ask('?per=hour&by=key,code&limit=1000')
    const walked: Json[] = []
    let cursor: string | null = null
    do {
      const page: Usage = await ask(
        `?per=hour&by=key,code&limit=4${cursor === null ? '' : `&cursor=${cursor}`}`,
      )
      expect(page.data.length).toBeLessThanOrEqual(4)
      expect(page.totals).toEqual(whole.totals)
      walked.push(...page.data)
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(walked).toEqual([...whole.data])
  })

  it('meet every filter that is given', async () => {
    const wallet = readRows().find(({ payer }) => payer !== null)!.payer
    const filters: readonly (readonly [string, (row: Row) => boolean])[] = [
      [`key_id=${ids['alpha key']}`, (row) => row.key_id === ids['alpha key']],
      [`project_id=${ids['beta']}`, (row) => row.project_id === ids['beta']],
      [`team_id=${ids['single']}`, (row) => row.project_id === ids['alpha']],
      [`payer=${wallet}`, (row) => row.payer === wallet],
      ['model=other', (row) => row.model === 'other'],
      ['supplier=fake', (row) => row.supplier === 'fake'],
      ['region=us', (row) => row.region === 'US'],
      ['code=budget_exceeded', (row) => row.code === 'budget_exceeded'],
      ['to=2026-02-01', (row) => row.hour * HOUR_MS < Date.UTC(2026, 1, 1)],
      ['from=2026-02-01T01:30:00Z', (row) => row.hour * HOUR_MS >= Date.UTC(2026, 1, 1, 1)],
    ]
    for (const [filter, fits] of filters) {
      const rows = readRows().filter(fits)
      expect(rows.length, filter).toBeGreaterThan(0)
      const { totals } = await ask(`?per=total&${filter}`)
      expect(figuresOf(totals), filter).toEqual(sumsOf(rows))
    }
  })

  it('of a team are those of its projects, and a project of two teams counts in both', async () => {
    const { data, totals } = await ask('?per=total&by=team')
    expect(data.map((entry) => entry['team_id'])).toEqual([ids['both'], ids['single']])
    const ofProjects = (...names: readonly string[]): Json =>
      sumsOf(readRows().filter((row) => names.some((name) => row.project_id === ids[name])))
    expect(data.map(figuresOf)).toEqual([ofProjects('alpha', 'beta'), ofProjects('alpha')])
    expect(figuresOf(totals)).toEqual(sumsOf(readRows()))
    const whole = await ask('?per=hour&by=team,project&limit=1000')
    const first = await ask('?per=hour&by=team,project&limit=3')
    const rest = await ask(`?per=hour&by=team,project&limit=1000&cursor=${first.next_cursor}`)
    expect([...first.data, ...rest.data]).toEqual([...whole.data])
  })

  it('reach back thirty days and up to now where nothing else is said', async () => {
    const { from, to } = await ask('')
    const now = clock.now()
    expect(Date.parse(to)).toBe(Math.floor(now / HOUR_MS + 1) * HOUR_MS)
    expect(Date.parse(from)).toBe(Math.floor(now / DAY_MS - 29) * DAY_MS)
  })
})

describe('figures of many teams', () => {
  it('come a hundred teams at a time, however few entries those have', async () => {
    const house = await startGateway({ clock, suppliers: [supplierAt(suppliers[0]!.origin)] })
    try {
      const root = tenantAt(house.url)
      const { id: project } = await root.make('/projects', { name: 'alone' })
      for (let index = 0; index < 100; index += 1) await root.make('/teams', { name: 'idle' })
      const { id } = await root.make('/teams', { name: 'last', project_ids: [project] })
      const key = await root.make('/keys', { name: 'a', project_id: project })
      const authorization = `Bearer ${String(key['key'])}`
      expect((await house.chat(HELLO, { headers: { authorization } })).status).toBe(200)
      const first = await root.get('/usage?per=total&by=team')
      expect(first).toMatchObject({ data: [], totals: { calls: 1 }, has_more: true })
      const rest = await root.get(`/usage?per=total&by=team&cursor=${String(first['next_cursor'])}`)
      expect(rest).toMatchObject({ data: [{ team_id: id, calls: 1 }], has_more: false })
      const file = await house.manage('GET', '/usage?per=total&by=team&format=csv')
      expect((await file.text()).trimEnd().split('\r\n')).toHaveLength(2)
    } finally {
      await house.stop()
    }
  })
})

describe('a token that manages', () => {
  it('sees the calls of its projects and nothing else', async () => {
    const { totals, data } = await ask('?per=total&by=project', secrets['alpha token'])
    expect(data.map((entry) => entry['project_id'])).toEqual([ids['alpha']])
    expect(figuresOf(totals)).toEqual(
      sumsOf(readRows().filter((row) => row.project_id === ids['alpha'])),
    )
    const team = await ask('?per=total&by=team', secrets['both token'])
    expect(team.data.map((entry) => entry['team_id'])).toEqual([ids['both']])
  })

  it('is told the same of what is not its own as of what there is not', async () => {
    const unknown = [
      ['project_id', ids['beta'], 'prj_none'],
      ['key_id', ids['beta key'], 'key_none'],
      ['key_id', ids['free key'], 'key_none'],
      ['team_id', ids['both'], 'team_none'],
    ]
    for (const [name, foreign, none] of unknown) {
      const replies = [foreign, none].map((id) => get(`?${name}=${id}`, secrets['alpha token']))
      const [one, other] = await Promise.all(replies)
      expect([one!.status, other!.status]).toEqual([404, 404])
      const text = await one!.text()
      expect(text).toBe(await other!.text())
      expect(text).toMatch(/GET \/v1\/manage\/(?:projects|keys|teams) /)
    }
    expect((await get('?payer=wal_none', secrets['alpha token'])).status).toBe(404)
    const wallet = readRows().find((row) => row.project_id === ids['alpha'] && row.payer !== null)!
    expect((await get(`?payer=${wallet.payer}`, secrets['alpha token'])).status).toBe(200)
  })

  it('is the only credential beside the root key that may ask', async () => {
    expect((await get('', secrets['alpha key'])).status).toBe(403)
  })
})

describe('what cannot be answered', () => {
  it.each([
    ['?frm=2026-01-01', 'unsupported_parameter', 'frm'],
    ['?per=week', 'validation_error', 'per'],
    ['?by=key,key', 'validation_error', 'by'],
    ['?by=colour', 'validation_error', 'by'],
    ['?format=xml', 'validation_error', 'format'],
    ['?from=yesterday', 'validation_error', 'from'],
    ['?from=2026-01-02&to=2026-01-01', 'validation_error', 'to'],
    ['?per=hour&from=2025-12-01', 'validation_error', 'from'],
    ['?from=2024-12-01', 'validation_error', 'from'],
    ['?limit=0', 'validation_error', 'limit'],
    ['?cursor=x', 'validation_error', 'cursor'],
    ['?by=team&cursor=x', 'validation_error', 'cursor'],
    ['?model=', 'validation_error', 'model'],
    ['?region=E%20U', 'validation_error', 'region'],
  ])('%s is refused by name', async (query, code, param) => {
    const response = await get(query)
    const { error } = (await response.json()) as { error: Json }
    expect([response.status, error['code'], error['param']]).toEqual([400, code, param])
  })
})

describe('a file', () => {
  it('holds the whole range, line for line as the list has it', async () => {
    const response = await get('?per=hour&by=key,code&format=csv')
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="usage-\d{8}T\d{6}Z\.csv"$/,
    )
    const [head, ...lines] = (await response.text()).split('\r\n')
    expect(head).toBe(
      'start,end,key_id,code,calls,refused,failed,input_tokens,output_tokens,cost_usd,overrun_usd',
    )
    const { data } = await ask('?per=hour&by=key,code&limit=1000')
    expect(lines.pop()).toBe('')
    expect(lines).toHaveLength(data.length)
    for (const [index, line] of lines.entries()) {
      const cells = line.split(',')
      const entry = data[index]!
      expect(cells.slice(0, 3)).toEqual([entry['start'], entry['end'], entry['key_id']].map(String))
      expect(Number(cells[4])).toBe(Number(entry['calls']))
      expect(parseUsd(cells[9]!)).toBe(parseUsd(entry['cost_usd'] as number))
    }
  })
})

describe('gateway usage', () => {
  const run = async (...flags: readonly string[]): Promise<string> => {
    const environment = { GATEWAY_KEY: ROOT_KEY }
    const { code, out, err } = await tell(['usage', ...WINDOW, ...flags], { environment })
    expect([code, err]).toEqual([0, ''])
    return out
  }
  // Where the command looks: its own clock is the machine's.
  const WINDOW = ['--from', '2026-01-20', '--to', '2026-02-10', '--url']

  it('shows a line for each step and value', async () => {
    WINDOW[5] = gateway.url
    const { data } = await ask('?by=model')
    const lines = (await run('--by', 'model')).trimEnd().split('\n')
    expect(lines[0]).toMatch(/^FROM +MODEL +CALLS +REFUSED +FAILED +IN +OUT +COST USD$/)
    expect(lines).toHaveLength(data.length + 1)
    const last = data.at(-1)!
    const cells = lines.at(-1)!.split(/ +/)
    expect(cells.slice(0, 3)).toEqual(['2026-02-01', String(last['model']), String(last['calls'])])
  })

  it('hands on JSON and a table for a spreadsheet', async () => {
    WINDOW[5] = gateway.url
    const asked = '?per=total&by=key&from=2026-01-20&to=2026-02-10&limit=1000'
    const { data, totals } = await ask(asked)
    const answer = JSON.parse(await run('--per', 'total', '--by', 'key', '--json')) as Usage
    expect(answer).toMatchObject({ object: 'usage', data, totals, has_more: false })
    const file = await (await get(`${asked}&format=csv`)).text()
    expect(await run('--per', 'total', '--by', 'key', '--csv')).toBe(file)
    const one = await run('--per', 'total', '--key-id', ids['beta key']!)
    const own = data.find((entry) => entry['key_id'] === ids['beta key'])!
    expect(one.split('\n')[1]).toMatch(new RegExp(`^ *${String(own['calls'])} `))
  })
})
