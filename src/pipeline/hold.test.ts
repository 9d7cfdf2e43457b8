// A call that is not held leaves nothing behind: no money and no place, whatever broke on the way.
import { expect, it } from 'bun:test'
import { keyOf, openRoom, walletOf } from '../../test/fakes/ledger.ts'
import { toNanoUsd, toPicoUsd } from '../core/money.ts'
import type { Planned, Plant } from './call.ts'
import { Gate } from './gate.ts'
import { hold } from './hold.ts'

const KEY = keyOf(100)
const PRICE = { input: toPicoUsd(1000), output: toPicoUsd(1000) }

function planned(bytes: number, elsewhere?: string, contextWindow?: number): Planned {
  const load = {
    bytes,
    messages: 1,
    images: 0,
    inline: [],
    audioBytes: 0,
    maxTokens: 1,
    choices: 1,
    thinkingTokens: 0,
    predictedBytes: 0,
    elsewhere,
  }
  const limits = contextWindow === undefined ? undefined : { contextWindow }
  const route = { limits, prices: [{ from: 0, price: PRICE }] }
  const attempt = {
    route,
    rewrite: { model: 'm' },
    dialect: {},
    modelId: 'm',
    supplier: { id: 'fake', region: 'EU' },
  }
  const call: unknown = {
    id: 'req_1',
    at: 0,
    key: KEY,
    path: '/v1/chat/completions',
    body: new Uint8Array(bytes),
    facts: { model: 'm', stream: false, load },
    attempts: [attempt],
  }
  return call as Planned
}

/** A gateway with one place, whose counter fails. */
async function openPlant() {
  const { ledger, clock, halts } = await openRoom({ keys: [KEY] })
  const asked: string[] = []
  const plant: unknown = {
    clock,
    ledger,
    gate: new Gate(),
    limits: { inFlightMax: 1, inFlightKeyMax: 1 },
    keyring: { current: () => KEY },
    directory: { payersOf: () => [{ link: 'caller', walletId: 'wal_1' }] },
    counter: {
      count(_body: unknown, _load: unknown, _tokenizer: unknown, keyId: string) {
        asked.push(keyId)
        return Promise.reject(new Error('no thread'))
      },
    },
    policy: ledger.policy,
  }
  return { plant: plant as Plant, asked, halts }
}

it('what lies elsewhere counts in full should nobody see the end of the call', async () => {
  const { plant } = await openPlant()
  const { operation } = await hold(planned(10, 'file_id', 50), plant)
  expect(operation.hold.inputTokens).toBe(50)
})

it('a count that breaks leaves no place taken', async () => {
  const { plant, asked, halts } = await openPlant()
  for (let time = 0; time < 2; time++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const thrown = await hold(planned(1000), plant).catch((cause: unknown) => cause)
    expect(thrown).toEqual(new Error('no thread'))
  }
  expect(asked).toEqual([KEY.id, KEY.id])
  const held = await hold(planned(10), plant)
  expect(Number(held.operation.hold.amount)).toBe(10 + 16 + 1)
  expect(halts).toEqual([])
})

it('what nothing bounds is refused where a payer can run out, and only there', async () => {
  const { plant } = await openPlant()
  const free = { ...KEY, id: 'key_free', budgetLimit: undefined }
  const keyring: unknown = { current: () => free }
  const endless: Plant = { ...plant, keyring: keyring as Plant['keyring'] }
  expect((await hold(planned(10, 'file_id'), endless)).operation.hold.limit).toBeUndefined()
  plant.ledger.putWallet(walletOf({ creditLine: toNanoUsd(1_000_000) }))
  const refused = await hold(planned(10, 'file_id'), endless).catch((thrown: unknown) => thrown)
  expect(refused).toMatchObject({ code: 'unsupported_parameter', param: 'file_id' })
  expect(String(refused)).toContain('whoever pays for it can run out of money')
})
