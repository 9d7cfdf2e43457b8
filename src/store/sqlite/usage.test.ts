// Figures against the rows that they are made of: whenever rows are added up, whatever fails meanwhile, and
// however they are asked for.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  asCall,
  asHold,
  asRecord,
  endOf,
  HOUR,
  LARGEST,
  noteAt,
  NOW,
  readAll,
  sampleHold,
  sampleRow,
} from '../../../test/contracts/samples.ts'
import type { AuditRow } from '../../core/audit.ts'
import { createSystemClock } from '../../core/clock.ts'
import { HOUR_MS } from '../../core/hour.ts'
import { toNanoUsd } from '../../core/money.ts'
import type { LedgerRecord } from '../../core/record.ts'
import type { Store, UsageDimension, UsageQuery, UsageRow } from '../store.ts'
import { openSqliteStore } from './open.ts'

const clock = createSystemClock()

let folder: string
let store: Store
/** Every row that is durable. */
let rows: AuditRow[]

const reopen = async (): Promise<void> => {
  await store.close()
  store = await openSqliteStore({ folder, clock })
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'usage-'))
  store = await openSqliteStore({ folder, clock })
  rows = []
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const append = async (records: readonly LedgerRecord[]): Promise<void> => {
  await store.append(records)
  for (const record of records) if (record.type === 'audit') rows.push(record.row)
}

const rollUpAll = async (): Promise<void> => {
  while (await store.usage.rollUp());
}

const onFile = (sql: string): void => {
  const database = new Database(join(folder, 'gateway.db'))
  database.run(sql)
  database.close()
}

const markOf = (): unknown => {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  const row = database.query("SELECT value FROM marks WHERE name = 'usage'").get()
  database.close()
  return row
}

type Asked = Partial<Omit<UsageQuery, 'limit' | 'cursor'>>

const WHOLE = {
  fromHour: HOUR - 1000,
  toHour: HOUR + 1000,
  per: 'total',
  by: [],
  equal: {},
} as const

const read = (query: Asked = {}, limit = 1000): Promise<readonly UsageRow[]> =>
  readAll((cursor) => store.usage.read('acc_a', { ...WHOLE, ...query, limit, cursor }))

const walletOf = ({ payer }: AuditRow): string | undefined =>
  payer === undefined ? undefined : (JSON.parse(payer) as { wallet: string }).wallet

function valueOf(row: AuditRow, name: UsageDimension): string {
  const isRefused = row.state === 'refused'
  const values = {
    key: row.keyId,
    project: row.projectId,
    payer: walletOf(row),
    model: isRefused ? undefined : row.model,
    supplier: row.supplier,
    region: row.region,
    code: row.code,
  }
  return values[name] ?? ''
}

const hourIn = (row: AuditRow): number => row.hour ?? Math.floor(row.at / HOUR_MS)

const ORDER = ['key', 'project', 'payer', 'model', 'supplier', 'region', 'code'] as const

function fits(row: AuditRow, { fromHour, toHour, equal, projectIds }: UsageQuery): boolean {
  const hour = hourIn(row)
  return (
    row.accountId === 'acc_a' &&
    hour >= fromHour &&
    hour < toHour &&
    projectIds?.includes(row.projectId ?? '') !== false &&
    Object.entries(equal).every(([name, value]) => {
      const own = valueOf(row, name as UsageDimension)
      return name === 'region' ? own.toLowerCase() === value.toLowerCase() : own === value
    })
  )
}

const STEP: Readonly<Record<UsageQuery['per'], (hour: number) => number>> = {
  hour: (hour) => hour,
  day: (hour) => Math.floor(hour / 24) * 24,
  total: () => 0,
}

/** The same by hand. */
function addUp(asked: Asked = {}): readonly UsageRow[] {
  const query: UsageQuery = { ...WHOLE, ...asked, limit: 1, cursor: undefined }
  const by = ORDER.filter((name) => query.by.includes(name))
  const groups = new Map<string, UsageRow>()
  for (const row of rows) {
    if (!fits(row, query)) continue
    const step = STEP[query.per](hourIn(row))
    const values = by.map((name) => valueOf(row, name))
    const name = JSON.stringify([step, ...values])
    const known = groups.get(name)?.figures
    groups.set(name, {
      hour: query.per === 'total' ? undefined : step,
      values: Object.fromEntries(by.map((each, index) => [each, values[index] || undefined])),
      figures: addRow(row, known),
    })
  }
  const place = (row: UsageRow): string =>
    [String(row.hour).padStart(9), ...by.map((name) => row.values[name] ?? '')].join('\0')
  return [...groups.values()].toSorted((one, other) => (place(one) < place(other) ? -1 : 1))
}

const NONE = {
  calls: 0n,
  refused: 0n,
  failed: 0n,
  inputTokens: 0n,
  outputTokens: 0n,
  cost: 0n,
  overrun: 0n,
}

function addRow(row: AuditRow, known: UsageRow['figures'] = NONE): UsageRow['figures'] {
  if (row.state === 'refused') return { ...known, refused: known.refused + BigInt(row.count) }
  return {
    calls: known.calls + 1n,
    refused: known.refused,
    failed: known.failed + (row.code !== undefined || row.status !== 200 ? 1n : 0n),
    inputTokens: known.inputTokens + BigInt(row.inputTokens ?? 0),
    outputTokens: known.outputTokens + BigInt(row.outputTokens ?? 0),
    cost: known.cost + BigInt(row.cost),
    overrun: known.overrun + BigInt(row.overrun),
  }
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

const pick = <Item>(dice: Dice, ...items: readonly Item[]): Item => items[dice(items.length)]!

function randomRow(dice: Dice): AuditRow {
  const link = pick(dice, 'project', 'caller')
  const wallet = pick(dice, 'wal_1', 'wal_2')
  const terms = { wallet, link, line: null, limit: null, period: null, passed: [] }
  return sampleRow({
    at: NOW + (dice(120) - 60) * HOUR_MS + dice(HOUR_MS),
    accountId: dice(8) === 0 ? 'acc_b' : 'acc_a',
    keyId: pick(dice, 'key_a', 'key_b', 'key_c'),
    projectId: pick(dice, undefined, 'prj_1', 'prj_2'),
    model: pick(dice, 'one', 'two', 'EU', ''),
    supplier: pick(dice, 'here', 'there', undefined),
    region: pick(dice, 'EU', 'US', undefined),
    inputTokens: pick(dice, undefined, dice(1e6)),
    outputTokens: pick(dice, undefined, dice(1e6)),
    cost: toNanoUsd(dice(1e9)),
    status: pick(dice, 200, 200, 502),
    code: pick(dice, undefined, undefined, 'provider_error'),
    payer: pick(dice, undefined, JSON.stringify(terms)),
  })
}

/** A call that ends some time after its hold, or a refusal that stands for some. */
function randomRecords(dice: Dice): readonly LedgerRecord[] {
  const row = randomRow(dice)
  if (dice(3) === 0)
    return [asRecord({ ...row, ...REFUSED, count: 1 + dice(5), cost: toNanoUsd(0) })]
  const { at, requestId, accountId, projectId, keyId, cost, payer } = row
  const hold = sampleHold({ at, requestId, accountId, projectId, keyId, payer, amount: cost })
  const { state, evidence, held, hour, heldMs } = endOf(hold)
  const overrun = toNanoUsd(dice(3) * 1000)
  const end = { ...row, overrun, at: at + dice(3) * HOUR_MS, state, evidence, held, hour, heldMs }
  return [asHold(hold), asRecord(end)]
}

const REFUSED = { state: 'refused', payer: undefined } as const

function randomQuery(dice: Dice): Asked {
  const maybe = (name: string, value: unknown): object => (dice(4) === 0 ? { [name]: value } : {})
  const fromHour = HOUR - dice(70)
  return {
    per: pick(dice, 'hour', 'day', 'total'),
    by: ORDER.filter(() => dice(3) === 0),
    fromHour,
    toHour: fromHour + 1 + dice(140),
    equal: {
      ...maybe('key', 'key_a'),
      ...maybe('payer', 'wal_1'),
      ...maybe('region', 'eu'),
      ...maybe('model', pick(dice, 'one', 'EU')),
      ...maybe('code', 'provider_error'),
    },
    ...maybe('projectIds', pick(dice, [], ['prj_1'], ['prj_1', 'prj_2', 'prj_none'])),
  }
}

const FAILING = `CREATE TRIGGER failing BEFORE INSERT ON usage
  BEGIN SELECT RAISE(ABORT, 'disk on fire'); END`

/** Rows are added up, or not, by one of these. */
const STEPS: readonly (() => Promise<unknown>)[] = [
  () => store.usage.rollUp(),
  rollUpAll,
  () => Promise.all([store.usage.rollUp(), store.usage.rollUp(), store.usage.rollUp()]),
  async () => {
    onFile(FAILING)
    await store.usage.rollUp().catch(() => undefined)
    onFile('DROP TRIGGER failing')
  },
  reopen,
  async () => {},
]

describe('figures', () => {
  it.each([1, 2, 3])(
    'are the sums of the rows, whenever and however they are added up (history %d)',
    async (seed) => {
      const dice = createDice(seed)
      for (let round = 0; round < 20; round += 1) {
        const added = Array.from({ length: dice(60) }, () => randomRecords(dice)).flat()
        // While rows are being added up, too.
        await Promise.all([append(added), dice(3) === 0 ? store.usage.rollUp() : undefined])
        await pick(dice, ...STEPS)()
        for (let asked = 0; asked < 4; asked += 1) {
          const query = randomQuery(dice)
          expect(await read(query, pick(dice, 1000, 7))).toEqual(addUp(query))
        }
      }
      await rollUpAll()
      expect(await read()).toEqual(addUp())
    },
    30_000,
  )

  it('are exact without a row being added up, and the same after', async () => {
    const dice = createDice(7)
    await append(Array.from({ length: 300 }, () => randomRecords(dice)).flat())
    const query = { per: 'hour', by: ORDER } as const
    const live = await read(query)
    expect(live).toEqual(addUp(query))
    expect(markOf()).toEqual({ value: '{"number":0}' })
    await rollUpAll()
    expect(markOf()).not.toEqual({ value: '{"number":0}' })
    expect(await read(query)).toEqual(live)
  })

  it('count what was refused by its number alone, and not under the model that was asked for', async () => {
    await append([
      asRecord(sampleRow({ state: 'refused', count: 5, status: 402, code: 'x' })),
      ...asCall(sampleRow({ status: 502, code: 'x', cost: toNanoUsd(3), overrun: toNanoUsd(0) })),
    ])
    for (const prepare of [async () => {}, rollUpAll]) {
      await prepare()
      expect(await read({ by: ['model'] })).toEqual([
        { hour: undefined, values: { model: undefined }, figures: { ...NONE, refused: 5n } },
        {
          hour: undefined,
          values: { model: 'a-model' },
          figures: {
            ...NONE,
            calls: 1n,
            failed: 1n,
            inputTokens: 12n,
            outputTokens: 34n,
            cost: 3n,
          },
        },
      ])
    }
  })

  it('stay exact where a number no longer does, and where nothing honest comes to', async () => {
    const large = { cost: LARGEST, inputTokens: Number.MAX_SAFE_INTEGER }
    const calls = Array.from({ length: 100 }, () => asCall(sampleRow(large)))
    await append(calls.flat())
    for (const prepare of [async () => {}, rollUpAll]) {
      await prepare()
      const sum = 100n * BigInt(Number.MAX_SAFE_INTEGER)
      expect((await read())[0]?.figures).toMatchObject({ calls: 100n, cost: sum, inputTokens: sum })
    }
    for (let round = 0; round < 12; round += 1)
      await append(Array.from({ length: 100 }, () => asCall(sampleRow(large))).flat())
    await rollUpAll()
    expect((await read())[0]?.figures.calls).toBe(1300n)
  })

  it('of thousands of keys at once are added up in parts', async () => {
    const made = Array.from({ length: 3000 }, (_, index) =>
      asCall(sampleRow({ keyId: `key_${index}` })),
    )
    await append(made.flat())
    await rollUpAll()
    const query = { by: ['key'] } as const
    expect(await read(query)).toEqual(addUp(query))
  })

  it('of a day with more sums than one statement takes are in whole steps and pages', async () => {
    const made = Array.from({ length: 12_000 }, (_, index) =>
      asCall(sampleRow({ at: NOW + (index % 6) * HOUR_MS, keyId: `key_${Math.floor(index / 6)}` })),
    )
    await append(made.flat())
    await rollUpAll()
    const queries = [
      { per: 'hour' },
      { per: 'day' },
      { per: 'hour', by: ['key'] },
      // What is asked for begins within a day, and so does what one statement takes of it.
      { per: 'day', fromHour: HOUR + 1 },
    ] as const
    for (const query of queries) expect(await read(query)).toEqual(addUp(query))
  })

  it('stay when their records go to an archive, also those that nobody had added up', async () => {
    const dice = createDice(11)
    await append(Array.from({ length: 400 }, () => randomRecords(dice)).flat())
    const query = { per: 'day', by: ORDER } as const
    const before = addUp(query)
    const { last } = await store.ledger.head()
    await store.ledger.forget(last)
    expect(await store.ledger.records(0, 1)).toEqual([])
    expect(await read(query)).toEqual(before)
    await append(asCall(sampleRow()))
    expect(await read(query)).toEqual(addUp(query))
    await rollUpAll()
    expect(await read(query)).toEqual(addUp(query))
  })

  it('count what older versions recorded, by the hour in which it arrived', async () => {
    await store.close()
    onFile(`
      INSERT INTO names (number, name) VALUES (1, 'acc_a'), (2, 'key_old');
      INSERT INTO audit (sequence, at, request_id, account, key, endpoint, model, input_tokens, cost,
        latency_ms, status, stream, attempts, state)
      VALUES (1, ${NOW + 1}, 'req_1', 1, 2, '/', 'old', 5, 70, 1, 200, 0, 1, 'settled'),
        (2, ${NOW + HOUR_MS}, 'req_2', 1, 2, '/', 'old', NULL, 0, 1, 502, 0, 1, 'voided');
      UPDATE marks SET value = json_set(value, '$.number', 2) WHERE name IN ('base', 'recovery')`)
    store = await openSqliteStore({ folder, clock })
    const expected = [
      { ...NONE, calls: 1n, inputTokens: 5n, cost: 70n },
      { ...NONE, calls: 1n, failed: 1n },
    ].map((figures, index) => ({ hour: HOUR + index, values: { key: 'key_old' }, figures }))
    const query = { per: 'hour', by: ['key'] } as const
    expect(await read(query)).toEqual(expected)
    await rollUpAll()
    expect(await read(query)).toEqual(expected)
  })

  it('of an account that nobody called from are none', async () => {
    expect(await read()).toEqual([])
    expect(await store.usage.rollUp()).toBe(false)
  })
})

describe('adding up', () => {
  it('says whether rows are left', async () => {
    await append(asCall(sampleRow()))
    expect(await store.usage.rollUp()).toBe(false)
    expect(markOf()).toEqual({ value: '{"number":2}' })
    expect(await store.usage.rollUp()).toBe(false)
    await append([...Array.from({ length: 16_384 }, () => noteAt(NOW)), asRecord(sampleRow())])
    expect(await store.usage.rollUp()).toBe(true)
    expect(await store.usage.rollUp()).toBe(false)
    expect(await read()).toEqual(addUp())
  })

  it('beside somebody else who does changes nothing', async () => {
    await append(asCall(sampleRow()))
    const adding = store.usage.rollUp()
    onFile(`UPDATE marks SET value = '{"number":2}' WHERE name = 'usage'`)
    expect(await adding.catch(String)).toContain('somebody else did')
    expect(await read()).toEqual([])
    onFile(`UPDATE marks SET value = '{"number":0}' WHERE name = 'usage'`)
    await rollUpAll()
    expect(await read()).toEqual(addUp())
  })

  it('that failed has changed nothing, and succeeds later', async () => {
    await append(asCall(sampleRow({ keyId: 'key_new' })))
    onFile(FAILING)
    expect(await store.usage.rollUp().catch(String)).toContain('disk on fire')
    expect(markOf()).toEqual({ value: '{"number":0}' })
    const query = { by: ['key', 'model'] } as const
    expect(await read(query)).toEqual(addUp(query))
    onFile('DROP TRIGGER failing')
    await rollUpAll()
    expect(markOf()).toEqual({ value: '{"number":2}' })
    expect(await read(query)).toEqual(addUp(query))
  })
})

describe('a cursor', () => {
  it('of other steps, other dimensions or nobody is refused', async () => {
    await append([
      ...asCall(sampleRow({ keyId: 'key_a' })),
      ...asCall(sampleRow({ keyId: 'key_é&.' })),
    ])
    const query = { ...WHOLE, by: ['key'], limit: 1 } as const
    const { next } = await store.usage.read('acc_a', { ...query, cursor: undefined })
    const rest = await store.usage.read('acc_a', { ...query, cursor: next })
    expect(rest.items.map(({ values }) => values)).toEqual([{ key: 'key_é&.' }])
    const wrong = [
      { ...query, by: ['model'], cursor: next },
      { ...query, per: 'day', cursor: next },
      { ...query, cursor: 'x' },
      { ...query, cursor: Buffer.from('total.key.0.%').toString('base64url') },
    ] as const
    for (const each of wrong) {
      const thrown: unknown = await store.usage.read('acc_a', each).catch((cause: unknown) => cause)
      expect(thrown).toMatchObject({ code: 'validation_error', param: 'cursor' })
    }
  })
})
