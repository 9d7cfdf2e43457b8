// The books as a whole: where they stand, what this month has come to, and the order to archive what is
// closed. Checking and exporting them is for a command, which reads the files and burdens no call.
import { hourOf } from '../../core/hour.ts'
import { GatewayError, quoteName } from '../../core/problem.ts'
import { toJsonUsd } from '../../core/money.ts'
import type { Clock } from '../../core/clock.ts'
import { json } from '../../http/reply.ts'
import type { ArchivedMonth } from '../../ledger/months/archive.ts'
import { hoursOf, monthOf } from '../../ledger/months/checkpoint.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin, readManagementBody } from './body.ts'

const getLedger: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/ledger',
  role: 'operate',
  async answer(exchange, _key, { plant }) {
    checkOrigin(exchange.request)
    const { ledger } = plant.store
    const month = monthOf(hourOf(plant.ledger.now()))
    const { from, to } = hoursOf(month)
    const { writer, base, last, open } = await ledger.head()
    const totals = await ledger.totals(from, to)
    return json(exchange.id, {
      object: 'ledger',
      writer,
      number: last.number,
      hash: last.hash,
      archived: base.number,
      open: open.length,
      in_review: plant.ledger.reviews().length,
      month,
      accounts: totals.map(({ account, amount }) => ({ account, amount_usd: toJsonUsd(amount) })),
    })
  },
}

/** Shorter than any client waits; the work goes on, and the same request again joins it. */
const WAIT_MS = 20_000

const archiveLedger: KeyedEndpoint = {
  method: 'POST',
  path: '/v1/manage/ledger/archive',
  role: 'operate',
  async answer(exchange, key, { plant, keyring, archive }) {
    checkOrigin(exchange.request)
    const before = readBefore(await readManagementBody(exchange.request, plant.clock))
    keyring.current(key)
    const months = await settledWithin(archive.run(before), plant.clock)
    return json(exchange.id, {
      object: 'ledger.archive',
      status: months === undefined ? 'running' : 'done',
      months: months ?? [],
    })
  },
}

export const ledgerEndpoints: readonly KeyedEndpoint[] = [getLedger, archiveLedger]

function readBefore({ before, ...others }: Readonly<Record<string, unknown>>): string {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new GatewayError('unsupported_parameter', 'Send only `before`.', {
      param: quoteName(unknown),
    })
  if (typeof before === 'string') return before
  throw new GatewayError(
    before === undefined ? 'missing_fields' : 'validation_error',
    'Send `before` as a month such as 2030-01: the months before it are archived.',
    { param: 'before' },
  )
}

/** Undefined where it takes longer. */
function settledWithin(
  work: Promise<readonly ArchivedMonth[]>,
  clock: Clock,
): Promise<readonly ArchivedMonth[] | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly ArchivedMonth[] | undefined>()
  const place = clock.after(WAIT_MS, { tick: () => resolve(undefined) })
  work.then(resolve, reject).finally(() => place.leave())
  return promise
}
