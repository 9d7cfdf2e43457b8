// The roster of scenarios, in the order in which they run.
import { UsageError } from '../options.ts'
import { coldStart } from './cold-start.ts'
import { languages } from './languages.ts'
import { openStreams } from './open-streams.ts'
import { outage } from './outage.ts'
import { pace } from './pace.ts'
import { relayCosts } from './relay-cost.ts'
import { reload } from './reload.ts'
import type { Scenario } from './scenario.ts'
import { sessions } from './sessions.ts'
import { tasks } from './tasks.ts'

export const scenarios: readonly Scenario[] = [
  ...relayCosts,
  languages,
  tasks,
  pace,
  openStreams,
  reload,
  outage,
  sessions,
  coldStart,
]

export function pickScenarios(only: readonly string[]): readonly Scenario[] {
  if (only.length === 0) return scenarios
  const ids = scenarios.map(({ id }) => id)
  const unknown = only.find((id) => !ids.includes(id))
  if (unknown !== undefined)
    throw new UsageError(`there is no scenario ${unknown}; there are: ${ids.join(', ')}`)
  return scenarios.filter(({ id }) => only.includes(id))
}
