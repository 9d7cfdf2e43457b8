// What SQLite leaves of tokens in its file: nothing of those that were replaced or removed.
import { afterEach, beforeEach, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sampleIdentity } from '../../../test/contracts/identities.ts'
import { NOW, sampleDeed } from '../../../test/contracts/samples.ts'
import { createFakeClock } from '../../../test/fakes/clock.ts'
import type { SealedTokens } from '../../core/identity.ts'
import type { Store } from '../store.ts'
import { openSqliteStore } from './open.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'store-'))
  store = await openSqliteStore({ folder, clock: createFakeClock(NOW) })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** On many pages, each of which says whose it is. */
function tokensOf(word: string, count: number): SealedTokens {
  const sealed = Uint8Array.from(Buffer.from(`${word} `.repeat(count)))
  return { sealed, expiresAt: NOW, renewedAt: undefined, refusedAt: undefined }
}

/** Which of these words a file of the folder has, once the log is cleared away. */
async function left(words: readonly string[]): Promise<readonly string[]> {
  await store.close()
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)))
  return words.filter((word) => files.some((bytes) => bytes.includes(word)))
}

it('overwrites tokens that a renewal replaced or that were removed, and no others', async () => {
  const { accountId } = await store.load()
  // Of all sizes, so that rows move from page to page.
  const sizes = Array.from({ length: 40 }, (_, index) => 1 + ((index * 37) % 400))
  const records = sizes.map((size) =>
    sampleIdentity(accountId, { tokens: tokensOf('first-tokens', size) }),
  )
  /* oxlint-disable no-await-in-loop -- one after another */
  for (const record of records) await store.identities.insert(record, sampleDeed())
  for (const [index, { id }] of records.entries()) {
    const tokens = tokensOf('second-tokens', sizes.at(-index)!)
    await store.identities.keepTokens(accountId, id, tokens)
  }
  for (const record of records)
    await store.identities.update({ ...record, endedAt: NOW }, sampleDeed())
  const last = sampleIdentity(accountId, { tokens: tokensOf('last-tokens', 3) })
  await store.identities.insert(last, sampleDeed())
  /* oxlint-enable no-await-in-loop */
  const words = ['first-tokens', 'second-tokens', 'last-tokens']
  expect(await left(words)).toEqual(['last-tokens'])
})
