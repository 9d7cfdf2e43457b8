// Figures as people and programs read them: as JSON, or as a line of a table. Sums are printed digit for
// digit, however large they are.
import { HOUR_MS } from '../../core/hour.ts'
import { toJsonUsd } from '../../core/money.ts'
import type { UsageFigures, UsageRow } from '../../store/store.ts'
import { toLine } from './csv.ts'
import { printTime } from './print.ts'
import type { UsageRequest, UsageWord } from './usage-query.ts'

export interface UsageItem {
  /** Where figures are told apart by team. */
  readonly teamId: string | undefined
  readonly row: UsageRow
}

export const NO_FIGURES: UsageFigures = {
  calls: 0n,
  refused: 0n,
  failed: 0n,
  inputTokens: 0n,
  outputTokens: 0n,
  cost: 0n,
  overrun: 0n,
}

const FIELDS: Readonly<Record<UsageWord, string>> = {
  team: 'team_id',
  key: 'key_id',
  project: 'project_id',
  payer: 'payer',
  model: 'model',
  supplier: 'supplier',
  region: 'region',
  code: 'code',
}

export function describeFigures(figures: UsageFigures): Readonly<Record<string, object>> {
  return {
    calls: exactly(figures.calls),
    refused: exactly(figures.refused),
    failed: exactly(figures.failed),
    input_tokens: exactly(figures.inputTokens),
    output_tokens: exactly(figures.outputTokens),
    cost_usd: toJsonUsd(figures.cost),
    overrun_usd: toJsonUsd(figures.overrun),
  }
}

export function describeUsage(
  { teamId, row }: UsageItem,
  request: UsageRequest,
): Readonly<Record<string, unknown>> {
  const { values, figures } = row
  const dimensions = request.by.map((word) => [
    FIELDS[word],
    (word === 'team' ? teamId : values[word]) ?? null,
  ])
  return {
    ...describeStep(row, request),
    ...Object.fromEntries(dimensions),
    ...describeFigures(figures),
  }
}

/** The first line of a table: the names of the fields. */
export function usageHead({ by }: UsageRequest): string {
  const figures = Object.keys(describeFigures(NO_FIGURES))
  return toLine(['start', 'end', ...by.map((word) => FIELDS[word]), ...figures])
}

export function usageLine(item: UsageItem, request: UsageRequest): string {
  return toLine(Object.values(describeUsage(item, request)))
}

const STEP_HOURS = { hour: 1, day: 24 }

/** What of the step is in the range. */
function describeStep(
  { hour }: UsageRow,
  { per, fromHour, toHour }: UsageRequest,
): { readonly start: string | null; readonly end: string | null } {
  if (hour === undefined || per === 'total')
    return { start: printTime(fromHour * HOUR_MS), end: printTime(toHour * HOUR_MS) }
  return {
    start: printTime(Math.max(hour, fromHour) * HOUR_MS),
    end: printTime(Math.min(hour + STEP_HOURS[per], toHour) * HOUR_MS),
  }
}

function exactly(sum: bigint): object {
  return JSON.rawJSON(String(sum))
}
