// The assembled error table. A code stands in exactly one theme; a spread would let a later theme
// overwrite an earlier one in silence, so the test beside this file counts both sides.
import { ACCESS } from './access.ts'
import { ACCOUNT } from './account.ts'
import { AGENT } from './agent.ts'
import { CHANGE } from './change.ts'
import { DOCUMENT } from './document.ts'
import { MODEL } from './model.ts'
import { MONEY } from './money.ts'
import { OPERATION } from './operation.ts'
import type { Problem } from './problem.ts'
import { REALTIME } from './realtime.ts'
import { REQUEST } from './request.ts'
import { ROUTING } from './routing.ts'
import { SERVICE } from './service.ts'
import { SETTLEMENT } from './settlement.ts'
import { STREAM } from './stream.ts'
import { SUPPLIER } from './supplier.ts'

const TABLE = {
  ...REQUEST,
  ...ACCESS,
  ...ACCOUNT,
  ...MONEY,
  ...SETTLEMENT,
  ...OPERATION,
  ...MODEL,
  ...ROUTING,
  ...SUPPLIER,
  ...STREAM,
  ...SERVICE,
  ...AGENT,
  ...REALTIME,
  ...DOCUMENT,
  ...CHANGE,
}

export type ProblemCode = keyof typeof TABLE

export const PROBLEMS: Readonly<Record<ProblemCode, Problem>> = TABLE

export interface ProblemTheme {
  readonly title: string
  readonly problems: Readonly<Record<string, Problem>>
}

/** The same rows in reading order, what concerns callers most first. */
export const PROBLEM_THEMES: readonly ProblemTheme[] = [
  { title: 'The request itself', problems: REQUEST },
  { title: 'Keys, sessions and permissions', problems: ACCESS },
  { title: 'Accounts, people and domains', problems: ACCOUNT },
  { title: 'Budgets, payers and prices', problems: MONEY },
  { title: 'Settlement', problems: SETTLEMENT },
  { title: 'Operations, leases and deliveries', problems: OPERATION },
  { title: 'Models and capabilities', problems: MODEL },
  { title: 'Routes, regions and failover', problems: ROUTING },
  { title: 'Suppliers', problems: SUPPLIER },
  { title: 'Streams', problems: STREAM },
  { title: 'The gateway itself', problems: SERVICE },
  { title: 'Agents and requester bridges', problems: AGENT },
  { title: 'Realtime sessions', problems: REALTIME },
  { title: 'Documents and images', problems: DOCUMENT },
  { title: 'Canaries, changes and publications', problems: CHANGE },
]
