// An end that comes before its hold is durable. Nobody may do that; should somebody, the process stops.
import { expect, it } from 'bun:test'
import { askOf, endOf, keyOf, openRoom, turns } from '../../test/fakes/ledger.ts'
import { LedgerFault } from './fault.ts'

it('of a hold that then cannot be written stops the process', async () => {
  const key = keyOf(100)
  const room = await openRoom({ keys: [key] })
  room.store.stall()
  const ask = askOf(key, 60)
  const holding = room.ledger.hold(ask).catch((thrown: unknown) => thrown)
  const operation = room.ledger.find(ask.requestId)!
  void room.ledger.end(operation, endOf(operation, 10))
  room.store.fail()
  expect(await holding).toBeInstanceOf(LedgerFault)
  await turns()
  expect(room.halts).toHaveLength(1)
  expect(room.store.records).toEqual([])
})
