// A credential as the record of a change tells it, under the names that the interface has for its fields.
// Neither a secret nor its hash is ever among them.
import type { KeyRecord, KeySettings } from '../core/key.ts'
import { toJsonUsd } from '../core/money.ts'
import type { Change } from './act.ts'

type Told = Pick<Change, 'before' | 'after'>

/** All that is set. */
export function describeNew(key: KeyRecord): Told {
  const described = {
    ...describeSettings(key),
    project_id: key.projectId ?? null,
    team_id: key.teamId ?? null,
    user_id: key.userId ?? null,
    manage: key.manages,
  }
  return { before: null, after: described }
}

/** What differs alone: lists of models may be long, and a record is for ever. */
export function describeChange(before: KeySettings, after: KeySettings): Told {
  const [old, now] = [describeSettings(before), describeSettings(after)]
  const changed = Object.keys(now).filter(
    (name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]),
  )
  return { before: pick(old, changed), after: pick(now, changed) }
}

export function printTime(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}

type Described = Readonly<Record<string, unknown>>

function describeSettings(settings: KeySettings): Described {
  const { budgetLimit } = settings
  return {
    name: settings.name,
    allowed_models: settings.allowedModels ?? null,
    allowed_regions: settings.allowedRegions ?? null,
    budget_limit: budgetLimit === undefined ? null : toJsonUsd(budgetLimit),
    budget_period: settings.budgetPeriod ?? null,
    fit: settings.fitsBudget ? 'on' : 'off',
    rate_limit_rpm: settings.rateLimitRpm ?? null,
    metadata: settings.metadata,
    expires_at: printTime(settings.expiresAt),
  }
}

function pick(described: Described, names: readonly string[]): Described {
  return Object.fromEntries(names.map((name) => [name, described[name]]))
}
