// Whether the input of a call is an object, however it is cut into pieces.
import { describe, expect, it } from 'bun:test'
import { Backlog } from '../../backlog.ts'
import { CallInput } from './answer-input.ts'

function gather(pieces: readonly string[], backlog = new Backlog()): CallInput {
  const input = new CallInput(backlog)
  for (const piece of pieces) input.add(piece)
  return input
}

describe('the input of a call', () => {
  it.each([
    ['{"a":{"b":"}"}}', true, false],
    [' {}\n', true, false],
    ['', false, false],
    ['  ', false, false],
    ['null', false, false],
    ['""', false, false],
    ['{"a":', false, true],
    ['{"a":}', true, true],
    ["{'a':1}", true, true],
    ['{}{"a":1}', true, true],
    ['{"a":1} x', true, true],
    ['[{"a":1}]', false, true],
    ['5', false, true],
    ['rm -rf', false, true],
  ])('%j', (text, isWhole, isBroken) => {
    for (const pieces of [[text], text.split('')]) {
      const input = gather(pieces)
      expect([input.isWhole, input.isBroken]).toEqual([isWhole, isBroken])
    }
  })

  it('is kept until its end, and no longer', () => {
    const backlog = new Backlog(100)
    const whole = `{"a":"${'x'.repeat(80)}"}`
    for (let time = 0; time < 5; time++) gather(whole.split(''), backlog)
    expect(() => {
      for (let time = 0; time < 5; time++) gather(['{"a":"', 'x'.repeat(80)], backlog)
    }).toThrow()
  })

  it('of any length needs no more than a part of what may be kept', () => {
    const piece = 'x'.repeat(65_536)
    const input = gather(['{"a":"', ...Array.from({ length: 200 }, () => piece), '"}'])
    expect([input.isWhole, input.isBroken]).toEqual([true, false])
  })
})
