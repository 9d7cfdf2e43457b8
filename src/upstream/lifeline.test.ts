// An attempt ends by its deadline, by its caller's leaving or by an order, each with its own reason, and
// is forgotten everywhere once it is released.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { Chain } from '../core/chain.ts'
import { GatewayError } from '../core/problem.ts'
import { CallerGone, Lifeline } from './lifeline.ts'

function openLifeline(caller = new AbortController()) {
  const clock = createFakeClock()
  const living = new Chain<Lifeline>()
  let kept = 0
  const line = {
    signal: caller.signal,
    keepOpen: () => void kept++,
    letGo: () => void kept--,
  }
  const lifeline = new Lifeline(clock, line, living)
  return { clock, living, caller, lifeline, kept: () => kept }
}

describe('a lifeline', () => {
  it('ends at its deadline and not a second before, and says what was missing', () => {
    const { clock, living, lifeline } = openLifeline()
    lifeline.expect('first byte', 30_000)
    clock.advance(29_000)
    expect(lifeline.signal.aborted).toBe(false)
    clock.advance(1000)
    expect(lifeline.signal.reason).toBeInstanceOf(GatewayError)
    expect(lifeline.signal.reason).toMatchObject({
      code: 'provider_timeout',
      message: 'The supplier sent no first byte within 30 seconds.',
    })
    expect(living.size).toBe(0)
    expect(clock.listeners()).toBe(0)
  })

  it('counts anew with every new expectation', () => {
    const { clock, lifeline } = openLifeline()
    for (let step = 0; step < 10; step++) {
      lifeline.expect('further data', 120_000)
      clock.advance(119_000)
    }
    expect(lifeline.signal.aborted).toBe(false)
  })

  it('waits for ever while nothing is expected, and keeps the caller connected', () => {
    const { clock, lifeline, kept } = openLifeline()
    clock.advance(3_600_000)
    expect(lifeline.signal.aborted).toBe(false)
    expect(kept()).toBe(1)
    lifeline.release()
    expect(kept()).toBe(0)
  })

  it.each([
    ['that is released', (lifeline: Lifeline) => lifeline.release()],
    ['that is ended', (lifeline: Lifeline) => lifeline.abort(new GatewayError('stream_error'))],
  ])('%s gives a long call its usual limits back, once', (_, end) => {
    const asked: string[] = []
    const clock = createFakeClock()
    const line = {
      signal: new AbortController().signal,
      keepOpen: () => void asked.push('keep open'),
      letGo: () => void asked.push('let go'),
    }
    const lifeline = new Lifeline(clock, line, new Chain())
    expect(asked).toEqual([])
    clock.advance(90_000)
    expect(asked).toEqual(['keep open'])
    end(lifeline)
    lifeline.release()
    clock.advance(90_000)
    expect(asked).toEqual(['keep open', 'let go'])
  })

  it('leaves the limits of a short call alone', () => {
    const { lifeline, clock, kept } = openLifeline()
    lifeline.release()
    clock.advance(5000)
    expect(kept()).toBe(0)
  })

  it('ends with its caller, before and after it began', () => {
    const { caller, lifeline } = openLifeline()
    lifeline.listen()
    caller.abort()
    expect(lifeline.signal.reason).toBeInstanceOf(CallerGone)
    const late = openLifeline(caller)
    late.lifeline.listen()
    expect(late.lifeline.signal.reason).toBeInstanceOf(CallerGone)
    late.lifeline.release()
    expect(late.living.size).toBe(0)
    expect(late.clock.listeners()).toBe(0)
  })

  it('notices by itself that its caller has left, also in its first moment', async () => {
    const { caller, lifeline } = openLifeline()
    const later = openLifeline()
    caller.abort()
    await new Promise((resolve) => lifeline.signal.addEventListener('abort', resolve))
    expect(lifeline.signal.reason).toBeInstanceOf(CallerGone)
    later.caller.abort()
    expect(later.lifeline.signal.reason).toBeInstanceOf(CallerGone)
  })

  it('keeps the first reason', () => {
    const { clock, caller, lifeline } = openLifeline()
    lifeline.expect('answer', 1000)
    lifeline.abort(new GatewayError('stream_interrupted'))
    caller.abort()
    clock.advance(1000)
    expect(lifeline.signal.reason).toMatchObject({ code: 'stream_interrupted' })
  })

  it('hears nothing any more once it is released', () => {
    const { clock, living, caller, lifeline } = openLifeline()
    lifeline.expect('answer', 1000)
    expect(living.size).toBe(1)
    lifeline.release()
    lifeline.release()
    clock.advance(10_000)
    caller.abort()
    expect(lifeline.signal.aborted).toBe(false)
    expect(living.size).toBe(0)
    expect(clock.listeners()).toBe(0)
  })
})
