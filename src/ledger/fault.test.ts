// What no honest call does to the books stops the process, before anything of it is written.
import { describe, expect, it } from 'bun:test'
import { askOf, boundOf, endOf, keyOf, openRoom, type Room } from '../../test/fakes/ledger.ts'
import type { Operation } from './book.ts'
import { LedgerFault } from './fault.ts'

describe('a state that cannot be', () => {
  it.each<readonly [what: string, cause: (room: Room, operation: Operation) => Promise<unknown>]>([
    [
      'an end that comes twice',
      async ({ ledger }, operation) => {
        await ledger.end(operation, endOf(operation, 10))
        return ledger.end(operation, endOf(operation, 10))
      },
    ],
    [
      'an end that comes twice at once',
      ({ ledger }, operation) => {
        void ledger.end(operation, endOf(operation, 10))
        return ledger.end(operation, endOf(operation, 10))
      },
    ],
    [
      'an end that belongs to another hour',
      async ({ ledger }, operation) => ledger.end(operation, endOf(operation, 10, { hour: 1 })),
    ],
    [
      'a void call that costs something',
      async ({ ledger }, operation) =>
        ledger.end(operation, endOf(operation, 10, { state: 'voided' })),
    ],
    [
      'a call that is held twice',
      ({ ledger }, { hold }) => ledger.hold(askOf(keyOf(100), 1, { requestId: hold.requestId })),
    ],
    [
      'a bound that takes more than there is',
      ({ ledger }) => {
        const bound = boundOf(1)
        bound.fit = () => boundOf(101).whole()
        return ledger.hold(askOf(keyOf(100), 1, { bound }))
      },
    ],
  ])('stops the process, and nothing of it is written: %s', async (_, cause) => {
    const room = await openRoom({ keys: [keyOf(100)] })
    const { operation } = await room.ledger.hold(askOf(keyOf(100), 20))
    const problem: unknown = await (async () => cause(room, operation))().catch(
      (thrown: unknown) => thrown,
    )
    expect(problem).toBeInstanceOf(LedgerFault)
    expect(room.halts).toEqual([problem as Error])
    const types = room.store.records.map(({ type }) => type)
    expect(types.filter((type) => type === 'hold')).toHaveLength(1)
    expect(types.filter((type) => type === 'audit').length).toBeLessThanOrEqual(1)
  })
})
