// Changes in turn, in front of a store that takes its time or fails: what is in memory is what was written.
import { beforeEach, describe, expect, it } from 'bun:test'
import { createSystemClock } from '../core/clock.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import type { Deed, TenancyRepository } from '../store/store.ts'
import type { Act } from './act.ts'
import { RECORDS_MAX } from './bounds.ts'
import { Directory } from './directory.ts'
import { Keyring } from './keyring.ts'
import { projectKind, userKind } from './kinds.ts'
import { createRecord, endRecord, listRecords, patchRecord, type TenancyDesk } from './tenancy.ts'

const ROOT: KeyRecord = {
  ...NO_LIMITS,
  ...NO_TIES,
  id: 'key_root',
  accountId: 'acc_1',
  kind: 'root',
  name: 'root',
  hash: 'hash',
  createdAt: 0,
}
const ACT: Act = { caller: ROOT, requestId: 'req_1', at: 1, claim: undefined }

/** Ends each write when it is told to. */
class SlowStore implements TenancyRepository {
  readonly deeds: Deed[] = []
  readonly #waiting: PromiseWithResolvers<void>[] = []
  #asked = Promise.withResolvers<void>()

  put(_records: readonly unknown[], deed: Deed): Promise<void> {
    const write = Promise.withResolvers<void>()
    this.deeds.push(deed)
    this.#waiting.push(write)
    this.#asked.resolve()
    this.#asked = Promise.withResolvers<void>()
    return write.promise
  }

  open(records: readonly unknown[], _root: KeyRecord, deed: Deed): Promise<void> {
    return this.put(records, deed)
  }

  async next(): Promise<PromiseWithResolvers<void>> {
    if (this.#waiting.length === 0) await this.#asked.promise
    return this.#waiting.shift()!
  }
}

let store: SlowStore
let desk: TenancyDesk

beforeEach(() => {
  store = new SlowStore()
  const directory = new Directory()
  const clock = createSystemClock()
  desk = {
    tenancy: store,
    directory,
    clock,
    keyring: new Keyring([ROOT], clock, directory),
    ledger: { putWallet: () => {}, walletState: () => ({ balance: 0n }) },
  }
})

function names(): readonly string[] {
  const scope = desk.directory.scopeOf(ROOT)
  return listRecords(desk, projectKind, scope).map(({ name }) => name)
}

describe('an account', () => {
  it('has so many of each kind and no more, ended ones among them; others are not concerned', async () => {
    for (let number = 0; number < RECORDS_MAX; number++) {
      const record = { ...NOBODY, id: `usr_${number}`, accountId: ROOT.accountId }
      desk.directory.put({ type: 'user', record })
    }
    const full = createRecord(desk, userKind, ACT, { name: 'one more' })
    const refusal: unknown = await full.catch((thrown: unknown) => thrown)
    expect(refusal).toMatchObject({ code: 'conflict', details: { limit: RECORDS_MAX } })
    const project = createRecord(desk, projectKind, ACT, { name: 'of another kind' })
    ;(await store.next()).resolve()
    expect(await project).toMatchObject({ name: 'of another kind' })
  })
})

const NOBODY = { name: 'nobody', email: undefined, createdAt: 0, endedAt: 1 }

describe('changes', () => {
  it('happen one after another, so that the second sees what the first has made', async () => {
    const body = { name: 'jo', email: 'jo@example.com' }
    const first = createRecord(desk, userKind, ACT, body)
    const second = createRecord(desk, userKind, ACT, body)
    second.catch(() => {})
    ;(await store.next()).resolve()
    expect(await first).toMatchObject(body)
    // What did not wait for its turn is with the store by now.
    expect(store.deeds).toHaveLength(1)
    const refused = await second.catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ code: 'conflict', param: 'email' })
    expect(store.deeds).toHaveLength(1)
  })

  it('are in memory only once they are durable', async () => {
    const made = createRecord(desk, projectKind, ACT, { name: 'slow' })
    const write = await store.next()
    expect(names()).toEqual([])
    write.resolve()
    await made
    expect(names()).toEqual(['slow'])
  })

  it('that could not be written leave everything as it was, and the next goes on', async () => {
    const made = createRecord(desk, projectKind, ACT, { name: 'kept' })
    ;(await store.next()).resolve()
    const { id } = await made
    const failing = [
      patchRecord(desk, projectKind, ACT, { id, body: { name: 'lost' } }),
      endRecord(desk, projectKind, ACT, id),
    ]
    const outcome = Promise.allSettled(failing)
    ;(await store.next()).reject(new Error('disk full'))
    ;(await store.next()).reject(new Error('disk full'))
    expect((await outcome).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(names()).toEqual(['kept'])
    const renamed = patchRecord(desk, projectKind, ACT, { id, body: { name: 'renamed' } })
    ;(await store.next()).resolve()
    await renamed
    expect(names()).toEqual(['renamed'])
  })
})
