// Who leaves before anything came pays a supplier that was at work, and none that had failed by itself; of a
// stream that broke, whoever broke it pays for what was not put out.
import { expect, it } from 'bun:test'
import { NO_LOAD, type ModelLimits } from '../core/load.ts'
import { toPicoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import { Bound } from '../ledger/cost/bound.ts'
import { AttemptFailure, type FailureEvidence } from '../upstream/failure.ts'
import { CallerGone } from '../upstream/lifeline.ts'
import type { Held, Try } from './call.ts'
import { isUntouched } from './claim.ts'
import { leavingOutcome, streamOutcome } from './outcome.ts'
import type { RelayStream } from './relay.ts'

function failed(evidence: FailureEvidence): Partial<Try> {
  return { failure: new AttemptFailure(new GatewayError('provider_timeout'), evidence) }
}

function leaveAfter(...tries: readonly Partial<Try>[]): unknown {
  const load = { bytes: 40, messages: 1, images: 0, inline: [], audioBytes: 0 }
  const { evidence, usage } = leavingOutcome({ facts: { load }, tries } as unknown as Held)
  return [evidence, usage?.inputTokens]
}

it.each<readonly [string, readonly Partial<Try>[], readonly unknown[]]>([
  ['before any was asked', [], ['unsent', undefined]],
  ['while the first was at work', [{}], ['broken', 14]],
  ['after the first refused', [failed('refused')], ['refused', undefined]],
  ['after the first could not be reached', [failed('unsent')], ['unsent', undefined]],
  ['after the first fell silent', [failed('unknown')], ['unknown', undefined]],
  ['while the second was at work', [failed('refused'), {}], ['broken', 14]],
  [
    'while the first was waited for before it was asked',
    [{ seen: 'unsent' }],
    ['unsent', undefined],
  ],
])('a caller that leaves %s', (_, tries, outcome) => {
  expect(leaveAfter(...tries)).toEqual(outcome)
})

it.each<readonly [readonly Partial<Try>[], boolean]>([
  [[failed('refused'), { seen: 'unsent' }], true],
  [[failed('unknown'), { seen: 'unsent' }], false],
  [[{}], false],
])('an Idempotency-Key is free again where nobody was at work', (tries, isFree) => {
  expect(isUntouched({ tries } as unknown as Held)).toBe(isFree)
})

it('a caller that leaves while the first thinks unseen pays for the thought', () => {
  const load = { bytes: 40, messages: 1, images: 0, inline: [], audioBytes: 0 }
  const tries: readonly Partial<Try>[] = [{ stream: { outputBytes: 400 } }]
  const { usage } = leavingOutcome({ facts: { load }, tries } as unknown as Held)
  expect([usage?.inputTokens, usage?.outputTokens]).toEqual([14, 100])
})

it.each([
  ['the caller broke pays for the input', new CallerGone(), 14],
  ['its supplier broke is free', new GatewayError('stream_interrupted'), undefined],
])('a stream without output that %s', (_, failure, inputTokens) => {
  const load = { bytes: 40, messages: 1, images: 0, inline: [], audioBytes: 0 }
  const stream: unknown = { usage: undefined, isUsageWhole: false, outputBytes: 0, audioBytes: 0 }
  const call = { facts: { load }, tries: [{}] } as unknown as Held
  const { evidence, usage } = streamOutcome(call, stream as RelayStream, failure, 1)
  expect([evidence, usage?.inputTokens]).toEqual(['broken', inputTokens])
})

it('what is elsewhere counts for what the model that was asked can read, whoever else is on the list', () => {
  const load = { ...NO_LOAD, bytes: 40, messages: 1, elsewhere: 'file_id' }
  const price = { input: toPicoUsd(1), output: toPicoUsd(1) }
  const windows: readonly ModelLimits[] = [{ contextWindow: 9000 }, { contextWindow: 5000 }, {}]
  const bound = new Bound(
    load,
    windows.map((limits) => ({ price, limits })),
  )
  const counted = windows.map((_, index) => {
    const call: unknown = { facts: { load }, bound, tries: [{ index }] }
    return leavingOutcome(call as Held).usage?.inputTokens
  })
  expect(counted).toEqual([9000, 5000, 40 + 16])
})
