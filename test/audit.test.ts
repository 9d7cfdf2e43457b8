// The audit as its readers meet it, over HTTP: asked with filters, walked in pages, taken away as a file.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AuditRow } from '../src/core/audit.ts'
import { createSystemClock } from '../src/core/clock.ts'
import { hashSecret } from '../src/core/ids.ts'
import type { KeyRecord } from '../src/core/key.ts'
import { printUsd, toNanoUsd } from '../src/core/money.ts'
import { openSqliteStore } from '../src/store/sqlite/open.ts'
import {
  asCall,
  asRecord,
  requestIdAt,
  sampleDeed,
  sampleKey,
  sampleRow,
} from './contracts/samples.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { good } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier } from './fakes/supplier.ts'

type Json = Readonly<Record<string, unknown>>

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}

const FIELDS =
  'timestamp key_id model supplier region input_tokens output_tokens cost_usd latency_ms ' +
  'request_id endpoint status code stream first_token_ms attempts project_id ' +
  'state evidence estimated held_usd overrun_usd count payer_wallet_id payer_link'
const clock = createSystemClock()
const START = Date.UTC(2026, 0, 1)
const COUNT = 2500

/** What a spreadsheet would run, and what a table must quote. */
const ODD_MODELS = [
  '=cmd|x',
  '+1',
  '-1',
  '@sum',
  '\ttab',
  '\rreturn',
  'a "b", c',
  'two\nlines',
  "'",
]

let folder: string
let supplier: FakeSupplier
let gateway: Gateway
let rows: readonly AuditRow[]
let managed: KeyRecord

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'audit-'))
  const store = await openSqliteStore({ folder, clock })
  const { accountId } = await store.load()
  managed = sampleKey(accountId, { hash: hashSecret(MANAGED_SECRET) })
  await store.keys.insert(managed, sampleDeed())
  rows = Array.from({ length: COUNT }, (_, index) => sampleCall(index, accountId))
  const foreign = { accountId: 'acc_other', keyId: 'key_other' }
  await store.append([
    ...rows.flatMap((row) => (row.count > 1 ? [asRecord(row)] : asCall(row))),
    asRecord(sampleRow({ ...foreign, requestId: FOREIGN_REQUEST, at: START })),
  ])
  await store.close()
  addForeignKey()
  supplier = await startFakeSupplier(good)
  gateway = await startGateway({
    suppliers: [supplierAt(supplier.origin)],
    environment: { GATEWAY_DATA: folder },
  })
})

afterAll(async () => {
  await gateway.stop()
  await supplier.stop()
  rmSync(folder, { recursive: true })
})

const MANAGED_SECRET = `svc-sk-${'m'.repeat(43)}`
const FOREIGN_REQUEST = requestIdAt(START)

function sampleCall(index: number, accountId: string): AuditRow {
  const at = START + index * 1000
  return sampleRow({
    at,
    requestId: requestIdAt(at),
    accountId,
    keyId: index % 3 === 0 ? managed.id : 'key_gone',
    model: index < ODD_MODELS.length ? ODD_MODELS[index]! : `model-${index % 7}`,
    supplier: ['one', 'two', undefined][index % 3],
    region: index % 2 ? 'EU' : 'US',
    inputTokens: index % 5 === 0 ? undefined : index,
    cost: toNanoUsd(index * 100),
    status: index % 10 === 0 ? 502 : 200,
    code: index % 10 === 0 ? 'provider_error' : undefined,
    projectId: index % 4 === 0 ? 'prj_a' : undefined,
    ...(index % 20 === 7 && REFUSED),
  })
}

/** Stands for many that were alike. */
const REFUSED: Partial<AuditRow> = {
  cost: toNanoUsd(0),
  status: 402,
  code: 'budget_exceeded',
  count: 3,
}

function addForeignKey(): void {
  const database = new Database(join(folder, 'gateway.db'))
  database.run("INSERT INTO accounts (id, name, created_at) VALUES ('acc_other', 'other', 0)")
  database.run(`INSERT INTO keys (id, account_id, kind, hash, name, metadata, created_at)
    VALUES ('key_other', 'acc_other', 'managed', 'x', 'other', '{}', 0)`)
  database.close()
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  const response = await fetch(`${gateway.url}/v1/manage${path}`, {
    headers: { authorization: `Bearer ${ROOT_KEY}`, ...headers },
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  const body = isJson ? (JSON.parse(text) as Json) : {}
  return { status: response.status, headers: response.headers, text, body }
}

const entriesOf = ({ body }: Reply): readonly Json[] => body['data'] as readonly Json[]
const idsOf = (reply: Reply): readonly unknown[] =>
  entriesOf(reply).map((entry) => entry['request_id'])

function expectRefusal(reply: Reply, status: number, code: string, param?: string): void {
  const error = reply.body['error'] as Json
  expect([reply.status, error['code'], error['param']]).toEqual([status, code, param ?? null])
  expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
}

/** All pages of a list. */
async function walk(path: string): Promise<readonly Json[]> {
  const entries: Json[] = []
  for (let cursor = ''; ;) {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const reply = await get(`${path}${cursor}`)
    expect(reply.status).toBe(200)
    entries.push(...entriesOf(reply))
    const next = reply.body['next_cursor'] as string | null
    expect(next === null).toBe(reply.body['has_more'] === false)
    if (next === null) return entries
    cursor = `&cursor=${next}`
  }
}

const SEEDED = `to=${new Date(START + COUNT * 1000).toISOString()}`

describe('the audit list', () => {
  it('tells of a call what its answer told, and nothing that was said in it', async () => {
    const before = await get('/audit?limit=1')
    const called = await gateway.chat(HELLO)
    const id = called.headers.get('x-request-id')
    const reply = await get('/audit?limit=1')
    const [entry] = entriesOf(reply)
    expect(Object.keys(entry!).join(' ')).toBe(FIELDS)
    expect(entry).toMatchObject({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      model: 'test-model',
      supplier: called.headers.get('x-svc-supplier'),
      region: called.headers.get('x-svc-region'),
      input_tokens: Number(called.headers.get('x-svc-input-tokens')),
      output_tokens: Number(called.headers.get('x-svc-output-tokens')),
      cost_usd: Number(called.headers.get('x-svc-cost-usd')),
      request_id: id,
      endpoint: '/v1/chat/completions',
      status: 200,
      code: null,
      stream: false,
      first_token_ms: null,
      attempts: 1,
      project_id: null,
      state: 'settled',
      evidence: 'reported',
      estimated: false,
      overrun_usd: 0,
      count: 1,
    })
    expect(Number(entry!['held_usd'])).toBeGreaterThan(Number(entry!['cost_usd']))
    expect(entry!['latency_ms']).toBeInteger()
    expect(reply.text).not.toContain('Hello')
    expect(reply.body).toMatchObject({ object: 'list', has_more: true })
    expect(idsOf(before)).not.toEqual([id])

    const one = await get(`/calls/${id}`)
    expect(one.body).toMatchObject(entry!)
    expect(Object.keys(one.body).join(' ')).toStartWith(FIELDS)
    expect(idsOf(await get(`/audit?request_id=${id}`))).toEqual([id])
    expect(idsOf(await get(`/audit?key_id=${String(entry!['key_id'])}&limit=1`))).toEqual([id])
  })

  it('prints costs as plain decimals', async () => {
    const { text } = await get(`/audit?request_id=${rows[1]!.requestId}`)
    expect(text).toContain('"cost_usd":0.0000001,')
  })

  const minute = (index: number): string => new Date(START + index * 60_000).toISOString()

  it.each<readonly [string, (row: AuditRow) => boolean]>([
    ['key_id={managed}', (row) => row.keyId === managed.id],
    ['model=model-3', (row) => row.model === 'model-3'],
    [`model=${encodeURIComponent('=cmd|x')}`, (row) => row.model === '=cmd|x'],
    ['supplier=two', (row) => row.supplier === 'two'],
    ['region=EU', (row) => row.region === 'EU'],
    ['region=eu', (row) => row.region === 'EU'],
    ['status=502', (row) => row.status === 502],
    ['status=200', (row) => row.status === 200],
    ['code=provider_error', (row) => row.code === 'provider_error'],
    ['state=refused', (row) => row.count === 3],
    ['state=settled', (row) => row.count === 1],
    [
      'state=refused&code=budget_exceeded&status=402&region=EU',
      ({ count, region }) => count === 3 && region === 'EU',
    ],
    [`from=${minute(3)}&to=${minute(5)}`, ({ at }) => at >= START + 18e4 && at < START + 3e5],
    [`to=${minute(1).replace('Z', '%2B00:00')}`, ({ at }) => at < START + 6e4],
    [`to=${minute(1).replace('Z', '+00:00')}`, ({ at }) => at < START + 6e4],
    ['from=2026-01-01&to=2026-01-02', () => true],
    [
      `key_id={managed}&region=US&status=502&from=${minute(10)}`,
      ({ at, keyId, region, status }) =>
        keyId === managed.id && region === 'US' && status === 502 && at >= START + 6e5,
    ],
  ])('takes ?%s', async (query, isWanted) => {
    const own = query.includes('to=') ? '' : `&${SEEDED}`
    const entries = await walk(`/audit?limit=1000${own}&${query.replace('{managed}', managed.id)}`)
    const expected = rows.filter(isWanted).map((row) => row.requestId)
    expect(expected.length).toBeGreaterThan(0)
    expect(entries.map((entry) => entry['request_id'])).toEqual(expected.toReversed())
  })

  it('shows every call once while new calls come in', async () => {
    const found = new Set<unknown>()
    let count = 0
    for (let cursor = ''; ;) {
      // oxlint-disable-next-line no-await-in-loop -- a page names its successor
      const reply = await get(`/audit?limit=300&${SEEDED}${cursor}`)
      for (const id of idsOf(reply)) found.add(id)
      count += entriesOf(reply).length
      if (reply.body['has_more'] === false) break
      // oxlint-disable-next-line no-await-in-loop -- between two pages
      await (await gateway.chat(HELLO)).text()
      cursor = `&cursor=${String(reply.body['next_cursor'])}`
    }
    expect(count).toBe(COUNT)
    for (const { requestId } of rows) expect(found).toContain(requestId)
  })

  it('has a hundred entries where no limit is given, and up to a thousand', async () => {
    expect(entriesOf(await get('/audit'))).toHaveLength(100)
    expect(entriesOf(await get('/audit?limit=1000'))).toHaveLength(1000)
  })

  it('is the same for one key under its own path', async () => {
    const own = await walk(`/keys/${managed.id}/audit?limit=1000&status=200`)
    const all = await walk(`/audit?limit=1000&key_id=${managed.id}&status=200`)
    expect(own).toEqual([...all])
    expect(own.length).toBeGreaterThan(100)
  })

  it.each<readonly [string, string, string]>([
    ['limit=0', 'validation_error', 'limit'],
    ['limit=1001', 'validation_error', 'limit'],
    ['limit=1.5', 'validation_error', 'limit'],
    ['limit=ten', 'validation_error', 'limit'],
    ['limit=0&format=csv', 'validation_error', 'limit'],
    ['limit=-1&format=jsonl', 'validation_error', 'limit'],
    ['cursor=', 'validation_error', 'cursor'],
    ['cursor=nonsense', 'validation_error', 'cursor'],
    ['cursor=nonsense&format=csv', 'validation_error', 'cursor'],
    ['format=xml', 'validation_error', 'format'],
    ['format=', 'validation_error', 'format'],
    ['model=', 'validation_error', 'model'],
    ['model=a&model=b', 'validation_error', 'model'],
    ['state=held', 'validation_error', 'state'],
    ['state=', 'validation_error', 'state'],
    ['status=ok', 'validation_error', 'status'],
    ['status=99', 'validation_error', 'status'],
    ['status=2000', 'validation_error', 'status'],
    ['region=E U', 'validation_error', 'region'],
    ['code=', 'validation_error', 'code'],
    ['from=yesterday', 'validation_error', 'from'],
    ['from=1767225600', 'validation_error', 'from'],
    ['from=2026-02-30', 'validation_error', 'from'],
    ['from=2026-01-01T25:00:00Z', 'validation_error', 'from'],
    ['from=2026-01-01T12:00:00', 'validation_error', 'from'],
    ['to=2026-01-01T12:00:00%2B02:00', 'validation_error', 'to'],
    ['from=2026-01-02&to=2026-01-01', 'validation_error', 'to'],
    ['from=2026-01-01&to=2026-01-01', 'validation_error', 'to'],
    ['request_id=5', 'validation_error', 'request_id'],
    ['request_id=%27%20OR%201=1', 'validation_error', 'request_id'],
    ['offset=5', 'unsupported_parameter', 'offset'],
    ['Model=a', 'unsupported_parameter', 'Model'],
    ['constructor=5', 'unsupported_parameter', 'constructor'],
    [`${'x'.repeat(100)}=5`, 'unsupported_parameter', 'x'.repeat(64)],
  ])('refuses ?%s', async (query, code, param) => {
    for (const path of ['/audit', `/keys/${managed.id}/audit`])
      // oxlint-disable-next-line no-await-in-loop -- two places, one rule
      expectRefusal(await get(`${path}?${query}`), 400, code, param)
  })

  it('takes a key from the path or from a filter, never both', async () => {
    const reply = await get(`/keys/${managed.id}/audit?key_id=${managed.id}`)
    expectRefusal(reply, 400, 'unsupported_parameter', 'key_id')
    expectRefusal(await get('/audit?key_id='), 400, 'validation_error', 'key_id')
  })

  it('does not take the cursor of a list with other filters', async () => {
    const { body } = await get('/audit?limit=1')
    const cursor = String(body['next_cursor'])
    const reply = await get(`/audit?key_id=${managed.id}&cursor=${cursor}`)
    expectRefusal(reply, 400, 'validation_error', 'cursor')
  })
})

describe('who may read the audit', () => {
  const places = ['/audit', '/audit?format=csv', '/keys/{id}/audit', '/calls/{call}']
  const placesOf = (): readonly string[] =>
    places.map((place) => place.replace('{id}', managed.id).replace('{call}', rows[0]!.requestId))

  it.each<readonly [string, Readonly<Record<string, string>>, number, string]>([
    ['nobody without a key', { authorization: '' }, 401, 'missing_api_key'],
    ['no stranger', { authorization: `Bearer ${ROOT_KEY}x` }, 401, 'invalid_api_key'],
    ['no managed key', { authorization: `Bearer ${MANAGED_SECRET}` }, 403, 'permission_denied'],
    ['no page of another origin', { origin: 'https://evil.test' }, 403, 'csrf_rejected'],
  ])('%s', async (_, headers, status, code) => {
    for (const place of placesOf())
      // oxlint-disable-next-line no-await-in-loop -- the same rule at every place
      expectRefusal(await get(place, headers), status, code)
  })

  it('nobody of another account', async () => {
    expect(idsOf(await get('/audit?key_id=key_other'))).toEqual([])
    expect(idsOf(await get(`/audit?request_id=${FOREIGN_REQUEST}`))).toEqual([])
    expect((await get('/audit?format=jsonl')).text).not.toContain('key_other')
    const foreign = await get('/keys/key_other/audit')
    expectRefusal(foreign, 404, 'not_found')
    expect((await get('/keys/key_none/audit')).text).toBe(foreign.text)
    const call = await get(`/calls/${FOREIGN_REQUEST}`)
    expectRefusal(call, 404, 'not_found')
    for (const id of [requestIdAt(START), 'req_none', '__proto__', "'%20OR%201=1", 'a%2Fb'])
      // oxlint-disable-next-line no-await-in-loop -- one answer for all of them
      expect((await get(`/calls/${id}`)).text).toBe(call.text)
  })
})

describe('the audit as a file', () => {
  it('is a table that reads back as the same entries', async () => {
    const reply = await get(`/audit?format=csv&${SEEDED}`)
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    expect(reply.headers.get('content-disposition')).toMatch(
      /^attachment; filename="audit-\d{8}T\d{6}Z\.csv"$/,
    )
    expect(reply.headers.get('x-request-id')).toMatch(/^req_/)
    const [head, ...lines] = parseCsv(reply.text)
    expect(head!.join(' ')).toBe(FIELDS)
    expect(lines).toEqual(rows.map(toCells).toReversed())
    for (const cell of lines.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
  })

  it('is lines of the very entries that the list has', async () => {
    const reply = await get(`/audit?format=jsonl&${SEEDED}`)
    expect(reply.headers.get('content-type')).toBe('application/x-ndjson; charset=utf-8')
    expect(reply.headers.get('content-disposition')).toEndWith('Z.jsonl"')
    const listed = await walk(`/audit?limit=1000&${SEEDED}`)
    expect(reply.text).toEndWith('}\n')
    expect(
      reply.text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Json),
    ).toEqual([...listed])
    expect(listed).toHaveLength(COUNT)
    expect(reply.text).toContain('"cost_usd":0.0000001,')
  })

  it.each([1, 250, 251, 600])(
    'ends after %d entries when that many are asked for',
    async (limit) => {
      const { text } = await get(`/keys/${managed.id}/audit?format=jsonl&limit=${limit}`)
      expect(text.trimEnd().split('\n')).toHaveLength(limit)
    },
  )

  it('has its head and nothing else when nothing is found', async () => {
    expect((await get('/audit?format=csv&model=none')).text).toBe(
      `${FIELDS.replaceAll(' ', ',')}\r\n`,
    )
    const lines = await get('/audit?format=jsonl&model=none')
    expect([lines.status, lines.text]).toEqual([200, ''])
  })

  it('takes filters, and begins at a cursor', async () => {
    const { body } = await get(`/audit?limit=1000&status=502&${SEEDED}`)
    expect(body['has_more']).toBe(false)
    const first = await get(`/audit?limit=50&status=502&${SEEDED}`)
    const cursor = String(first.body['next_cursor'])
    const rest = await get(`/audit?format=jsonl&status=502&${SEEDED}&cursor=${cursor}`)
    expect(rest.text.trimEnd().split('\n')).toHaveLength(COUNT / 10 - 50)
  })
})

function toCells(row: AuditRow): readonly string[] {
  const guard = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)
  return [
    new Date(row.at).toISOString(),
    row.keyId,
    guard(row.model),
    row.supplier ?? '',
    row.region ?? '',
    String(row.inputTokens ?? ''),
    String(row.outputTokens ?? ''),
    printUsd(row.cost),
    String(row.latencyMs),
    row.requestId,
    row.endpoint,
    String(row.status),
    row.code ?? '',
    String(row.stream),
    String(row.firstTokenMs),
    String(row.attempts),
    row.projectId ?? '',
    ...(row.count === 1
      ? ['settled', 'reported', 'false', printUsd(row.cost), '0', '1']
      : ['refused', '', 'false', '', '0', '3']),
    // Seeded rows are from before there were payers.
    '',
    '',
  ]
}

/** By RFC 4180: every line ends with CR LF, a quoted cell may hold anything. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const lines: string[][] = [[]]
  const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy
  for (let match = CELL.exec(text); match !== null; match = CELL.exec(text)) {
    lines.at(-1)!.push(match[1]?.replaceAll('""', '"') ?? match[2]!)
    if (match[3] === '\r\n') lines.push([])
    if (CELL.lastIndex === text.length) return lines.slice(0, -1)
  }
  throw new Error('not a table')
}
