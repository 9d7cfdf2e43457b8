// What would let a wallet pay: each lack has its own remedy, and none is advised that does not help. All of these are
// for the holder of the root key, but for waiting.
import type { PlaceHindrance } from './room.ts'
import type { Wallet } from './wallet.ts'

const WALLETS = '/v1/manage/wallets'

export const OPEN_ONE = `open a wallet for a place of the chain, by POST ${WALLETS}`
export const RESOLVE = 'POST /v1/manage/reviews/{request_id}'

export function mendOf(
  { why, lacks, isRunning }: PlaceHindrance,
  wallet: Wallet | undefined,
  now: number,
): string {
  if (wallet === undefined) return `open a wallet for whoever stands here, by POST ${WALLETS}`
  if (why === 'closed') return `open another in its place, by POST ${WALLETS}`
  if (isRunning) return 'wait for the calls under way, which hold what it has'
  if (why === 'busy')
    return `resolve its calls in review, by ${RESOLVE}, or wait until that is done`
  return lacks.map((lack) => remedyOf(lack, wallet, now)).join('; and ')
}

function remedyOf(lack: 'funds' | 'limit', wallet: Wallet, now: number): string {
  const path = `${WALLETS}/${wallet.id}`
  if (lack === 'funds')
    return `credit it, by POST ${path}/credits, or raise its credit line, by PATCH ${path}`
  const { resetsAt } = wallet.state(now)
  const reset = resetsAt === undefined ? '' : `, or wait until ${new Date(resetsAt).toISOString()}`
  return `raise its spending limit, by PATCH ${path}${reset}`
}
