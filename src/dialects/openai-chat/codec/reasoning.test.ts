// Details of a thought, gathered from the events of a stream.
import { describe, expect, it } from 'bun:test'
import { Backlog } from '../../backlog.ts'
import { Details } from './reasoning.ts'

function gather(...events: readonly object[][]) {
  const details = new Details(new Backlog())
  for (const event of events) details.add(event)
  return details.take()
}

const text = (text: string, fields: object = {}) => ({ type: 'reasoning.text', text, ...fields })
const encrypted = (data: string) => ({ type: 'reasoning.encrypted', data, index: 1 })

describe('details of a thought', () => {
  it('go on with what earlier events have begun, and never with each other', () => {
    expect(gather([text('a')], [text('b')])).toEqual([text('ab')])
    expect(gather([text('a'), text('b')])).toEqual([text('a'), text('b')])
  })

  it('go by their index where they have one, however they are mixed', () => {
    const one = { index: 1 }
    const two = { index: 2 }
    expect(gather([text('a', one), text('x', two)], [text('b', one)], [text('y', two)])).toEqual([
      text('ab', one),
      text('xy', two),
    ])
  })

  it('are others where they are encrypted, signed already, or have another id or type', () => {
    expect(gather([encrypted('a')], [encrypted('b')])).toEqual([encrypted('a'), encrypted('b')])
    const signed = text('a', { signature: 's' })
    expect(gather([signed], [text('b')])).toEqual([signed, text('b')])
    const named = [text('a', { id: '1' }), text('b', { id: '2' })] as const
    expect(gather([named[0]], [named[1]])).toEqual([...named])
    const summary = { type: 'reasoning.summary', summary: 'b' }
    expect(gather([text('a')], [summary])).toEqual([text('a'), summary])
  })

  it('keep what is told once, and take what is told later', () => {
    const first = { type: 'reasoning.text', text: 'a', format: 'x', signature: null }
    const last = { type: 'reasoning.text', text: '', format: null, signature: 's' }
    expect(gather([first], [last])).toEqual([
      { type: 'reasoning.text', text: 'a', format: 'x', signature: 's' },
    ])
  })

  it('are handed out once', () => {
    const details = new Details(new Backlog())
    details.add([text('a', { index: 0 })])
    expect(details.take()).toHaveLength(1)
    details.add([text('b', { index: 0 })])
    expect(details.take()).toEqual([text('b', { index: 0 })])
    expect(details.take()).toEqual([])
  })
})
