// The commands about accounts, for whoever runs the gateway.
import { toText } from './json.ts'
import { distance, timeAndDistance } from './print.ts'
import { commandsOf, rotate, type RecordKind } from './records.ts'

const ACCOUNTS: RecordKind = {
  noun: 'account',
  path: '/v1/manage/accounts',
  columns: [
    { title: 'ID' },
    { title: 'NAME', isElastic: true },
    { title: 'STATUS', style: (cell) => (cell === 'active' ? 'green' : 'dim') },
    { title: 'OPERATOR', rank: 2 },
    { title: 'WALLET', rank: 1 },
    { title: 'CREATED', rank: 3 },
  ],
  row: (account, now) => [
    toText(account['id']),
    toText(account['name']),
    toText(account['status']),
    account['is_operator'] === true ? 'yes' : '',
    toText(account['wallet_id']),
    distance(account['created'], now),
  ],
  sheet: (account, now) => {
    const closed = timeAndDistance(account['closed_at'], now)
    return [
      ['ID', toText(account['id'])],
      ['Name', toText(account['name'])],
      ['Status', toText(account['status'])],
      ['Operator', account['is_operator'] === true ? 'yes: it runs this gateway' : 'no'],
      ['Wallet', toText(account['wallet_id']) || 'none'],
      ['Created', timeAndDistance(account['created'], now)],
      ...(closed === '' ? [] : [['Closed', closed] as const]),
    ]
  },
  body: (words) => {
    const name = words.text('name')
    return name === undefined ? {} : { name }
  },
  filters: (words) => ({ name: words.text('name'), status: words.text('status') }),
  example: '--name NAME',
  end: { verb: 'close', done: 'closed', isAtOnce: true },
  secret: { field: 'root_key', label: 'Root key' },
}

export const accounts = { ...commandsOf(ACCOUNTS), rotate: rotate(ACCOUNTS) }
