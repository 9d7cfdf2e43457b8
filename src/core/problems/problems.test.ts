// Walks every row of the error table. The rules here are the ones that clients rely on without
// reading a row: one meaning per code, statuses that their SDKs treat as meant, texts worth showing.
import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'bun:test'
import { PROBLEM_THEMES, PROBLEMS } from './index.ts'
import type { Problem } from './problem.ts'

const rows: readonly (readonly [string, Problem])[] = Object.entries(PROBLEMS)

/** What official SDKs send again by themselves. */
const isRepeatedBySdks = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500

const isError = (status: number): boolean =>
  Number.isInteger(status) && status >= 400 && status <= 599
const statuses = (row: Problem): readonly number[] => [row.status, ...(row.also ?? [])]

const isReadable = (text: string): boolean =>
  text.length >= 20 && text.length <= 160 && text.endsWith('.') && text.trim() === text

const codesWhere = (test: (row: Problem, code: string) => boolean): readonly string[] =>
  rows.filter(([code, row]) => test(row, code)).map(([code]) => code)

const repeatedTexts = (texts: readonly string[]): readonly string[] =>
  texts.filter((text, index) => texts.indexOf(text) !== index)

describe('the error table', () => {
  it('holds 270 codes, each in one theme only', () => {
    expect(rows).toHaveLength(270)
    const codes = PROBLEM_THEMES.flatMap((theme) => Object.keys(theme.problems))
    expect(repeatedTexts(codes)).toEqual([])
    expect(codes.toSorted()).toEqual(rows.map(([code]) => code).toSorted())
  })

  it('assembles every file of the folder', () => {
    const others = new Set(['index.ts', 'problem.ts', 'problems.test.ts'])
    const files = readdirSync(import.meta.dir).filter((name) => !others.has(name))
    expect(files).toHaveLength(PROBLEM_THEMES.length)
  })

  it('keeps the number of codes in each group', () => {
    const counts: Record<string, number> = {}
    for (const [, row] of rows) counts[row.group] = (counts[row.group] ?? 0) + 1
    expect(counts).toEqual({ own: 18, A: 159, B: 49, C: 23, D: 19, P: 2 })
  })

  it('spells codes in lower case with underscores', () => {
    expect(codesWhere((_, code) => !/^[a-z]+(_[a-z]+)*$/.test(code))).toEqual([])
  })

  it('uses error statuses only, and lists none twice', () => {
    expect(codesWhere((row) => !statuses(row).every(isError))).toEqual([])
    expect(codesWhere((row) => new Set(statuses(row)).size !== statuses(row).length)).toEqual([])
  })
})

describe('retrying', () => {
  it('is advised only with a status that SDKs repeat', () => {
    const silent = codesWhere((row) => row.retryable === true && !isRepeatedBySdks(row.status))
    expect(silent).toEqual([])
  })

  it('is never advised where a second run could be paid twice', () => {
    const unsafe = /settlement|canary|recovery|operation_unknown|_grant_|^stream_/
    expect(codesWhere((row, code) => row.retryable === true && unsafe.test(code))).toEqual([])
  })

  it('is never advised for a rejected key, a policy or a payment', () => {
    const final = new Set(['C', 'D', 'P'])
    expect(codesWhere((row) => row.retryable === true && final.has(row.group))).toEqual([])
  })

  it('is not provoked by the status when the caller alone can mend the matter', () => {
    // A conflict is the exception: 409 is what says that the object should be read again.
    const provoked = codesWhere(
      (row) => row.blame === 'caller' && row.retryable !== true && isRepeatedBySdks(row.status),
    )
    expect(provoked).toEqual(['conflict'])
  })
})

describe('texts', () => {
  const explanations = rows.map(([, row]) => row.explanation)
  const actions = rows.map(([, row]) => row.action)

  it('are one or two sentences of a readable length', () => {
    expect([...explanations, ...actions].filter((text) => !isReadable(text))).toEqual([])
  })

  it('are specific to their code', () => {
    expect(repeatedTexts(explanations)).toEqual([])
    expect(repeatedTexts(actions)).toEqual([])
  })

  it('cannot be mistaken for a code and its separator', () => {
    expect([...explanations, ...actions].filter((text) => text.includes(' - '))).toEqual([])
  })
})

describe('statuses that clients depend on', () => {
  it.each([
    ['budget_exceeded', 402],
    ['billing_limit_reached', 403],
    ['payment_required', 402],
    ['idempotency_conflict', 422],
    ['sovereign_route_unavailable', 503],
    ['supplier_price_unresolved', 404],
    ['native_token_error', 403],
    ['capacity_exceeded', 429],
    ['operation_in_progress', 409],
    ['billing_unavailable', 503],
    ['all_providers_exhausted', 503],
    ['context_length_exceeded', 400],
    ['model_not_found', 404],
    ['request_too_large', 413],
    ['request_timeout', 408],
    ['missing_api_key', 401],
    ['csrf_rejected', 403],
    ['pod_draining', 503],
  ] as const)('%s is %d', (code, status) => {
    expect(PROBLEMS[code].status).toBe(status)
  })
})
