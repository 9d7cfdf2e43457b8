// Where somebody can sign in, as the gateway tells it: its configuration knows the addresses, and this machine does not.
import { CliFailure, wrongUsage } from './failure.ts'
import { toRecord, toText, type JsonRecord } from './json.ts'
import { somethingElse, type Live } from './live.ts'

const PATH = '/v1/manage/native/suppliers'

export interface NativeSupplier {
  readonly id: string
  readonly grant: string
  readonly clientId: string | undefined
  readonly scope: string | undefined
  readonly authorizeUrl: string | undefined
  readonly authorizeParameters: Readonly<Record<string, string>>
  readonly redirectUrl: string | undefined
  readonly deviceUrl: string | undefined
  readonly tokenUrl: string
}

/** The one that is named, or the only one there is. */
export async function chooseSupplier(
  named: string | undefined,
  live: Live,
): Promise<NativeSupplier> {
  const { value } = await live.call('GET', PATH)
  const { data } = toRecord(value)
  if (!Array.isArray(data)) throw somethingElse(live.url)
  const suppliers = data.map(toRecord).map(toSupplier)
  const [first, second] = suppliers
  if (first === undefined)
    throw new CliFailure('refused', 'This gateway has no supplier at which one signs in.', {
      advice:
        'Put one with `oauth` into its configuration, then `gateway reload`. `GET /v1/manage/native/suppliers` lists those there are.',
    })
  if (named === undefined && second === undefined) return first
  const found = suppliers.find(({ id }) => id === named)
  if (found !== undefined) return found
  const ids = suppliers.map(({ id }) => id).join(', ')
  if (named === undefined)
    throw wrongUsage(`There are several native suppliers. Give --supplier as one of ${ids}.`)
  throw wrongUsage(
    `Nobody signs in at ${JSON.stringify(named)} here. Give --supplier as one of ${ids}.`,
  )
}

function toSupplier(record: JsonRecord): NativeSupplier {
  const optional = (name: string): string | undefined => toText(record[name]) || undefined
  const parameters = Object.entries(toRecord(record['authorize_parameters']))
  return {
    id: toText(record['id']),
    grant: toText(record['grant']),
    clientId: optional('client_id'),
    scope: optional('scope'),
    authorizeUrl: optional('authorize_url'),
    authorizeParameters: Object.fromEntries(parameters.map(([name, each]) => [name, toText(each)])),
    redirectUrl: optional('redirect_url'),
    deviceUrl: optional('device_url'),
    tokenUrl: toText(record['token_url']),
  }
}
