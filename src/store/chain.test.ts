// The text that a record's hash is made of: the same for ever, whatever the record holds.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import {
  asHold,
  asNote,
  asRecord,
  endOf,
  sampleHold,
  sampleRow,
} from '../../test/contracts/samples.ts'
import { toNanoUsd } from '../core/money.ts'
import { link, textOf } from './chain.ts'

/** What callers, suppliers and operators may write. */
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    'a\nb',
    '\u0000',
    '\ud800',
    'x\udc00y',
    '\u2028',
    'é',
    '😀',
    ' ',
    "'",
  ),
)
const absent = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const figure = fc.oneof(
  fc.maxSafeNat(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
)

const NUMBERS =
  /^(at|hour|amount|limit|held|cost|overrun|count|status|attempts|stream|.*Tokens|.*Ms)$/

describe('the text of a record', () => {
  it('is the JSON of all its fields, with what no database keeps replaced', () => {
    const any = fc.record({
      model: anyText,
      projectId: absent(anyText),
      supplier: absent(anyText),
      code: absent(anyText),
      latencyMs: figure,
      firstTokenMs: absent(figure),
      inputTokens: absent(fc.maxSafeNat()),
      reason: anyText,
    })
    fc.assert(
      fc.property(any, ({ reason, ...fields }) => {
        const row = endOf(sampleHold(), { ...fields, details: { resolved: { by: 'x', reason } } })
        const expected = [
          'audit',
          row.at,
          row.requestId,
          row.accountId,
          row.projectId?.toWellFormed(),
          row.keyId,
          row.endpoint,
          row.model.toWellFormed(),
          row.supplier?.toWellFormed(),
          row.region,
          row.inputTokens,
          row.outputTokens,
          row.cost,
          row.latencyMs,
          row.firstTokenMs,
          row.status,
          row.code?.toWellFormed(),
          row.stream,
          row.attempts,
          row.state,
          row.evidence,
          row.held,
          row.hour,
          row.overrun,
          row.heldMs,
          row.count,
          row.details,
        ]
        expect(textOf(asRecord(row))).toBe(JSON.stringify(expected))
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(anyText, absent(anyText), (model, projectId) => {
        const hold = sampleHold({ model, projectId, limit: toNanoUsd(5), period: 'daily' })
        const expected = [
          'hold',
          hold.at,
          hold.hour,
          hold.requestId,
          hold.accountId,
          projectId?.toWellFormed(),
          hold.keyId,
          hold.endpoint,
          model.toWellFormed(),
          hold.stream,
          hold.amount,
          hold.limit,
          hold.period,
          hold.inputTokens,
          hold.maxTokens,
          JSON.parse(hold.terms) as unknown,
        ]
        expect(textOf(asHold(hold))).toBe(JSON.stringify(expected))
      }),
    )
  })

  it('is the same for ever', () => {
    const requestId = 'req_1'
    const hold = sampleHold({ requestId })
    const texts = [
      asHold(hold),
      asNote('review', requestId, { reason: 'x' }),
      asRecord(endOf(hold)),
    ].map(textOf)
    expect(texts).toEqual([
      '["hold",1768478400000,491244,"req_1","acc_a",null,"key_a","/v1/chat/completions","a-model",true,1000000,null,null,12,4096,[{"supplier":"a-supplier","region":"EU","model":"a-model","price":{"input":1000,"output":2000}}]]',
      '["note",1768478400000,"review","req_1",{"reason":"x"}]',
      '["audit",1768478400000,"req_1","acc_a",null,"key_a","/v1/chat/completions","a-model","a-supplier","EU",12,34,0,1234,56,200,null,true,1,"settled","reported",1000000,491244,0,1.5,1,null]',
    ])
    expect(texts.reduce(link, '')).toBe('Dovg4ex4XbKzC4FJlA0sT+hi8u3nk/YIRkzAC4fl4wg=')
  })

  it('ends with the payer and the route, where there are any', () => {
    const payer = '{"wallet":"wal_a"}'
    const route = '{"snapshot":"a","listed":["one"]}'
    const endings = [{}, { payer }, { payer, route }, { route }].map((change) => {
      const text = textOf(asRecord(sampleRow(change)))
      return (JSON.parse(text) as unknown[]).slice(27)
    })
    const parsed: unknown[] = [JSON.parse(payer), JSON.parse(route)]
    expect(endings).toEqual([[], [parsed[0]], parsed, [null, parsed[1]]])
  })

  it('tells every field apart', () => {
    const change = <Fields extends object>(fields: Fields, name: string): Fields => ({
      ...fields,
      [name]: NUMBERS.test(name) ? 7777 : name === 'details' ? {} : 'changed',
    })
    const row = sampleRow()
    const rows = Object.keys(row).map((name) => textOf(asRecord(change(row, name))))
    expect(new Set([...rows, textOf(asRecord(row))]).size).toBe(Object.keys(row).length + 1)
    const hold = sampleHold()
    const holds = Object.keys(hold).map((name) => textOf(asHold(change(hold, name))))
    expect(new Set([...holds, textOf(asHold(hold))]).size).toBe(Object.keys(hold).length + 1)
  })
})
