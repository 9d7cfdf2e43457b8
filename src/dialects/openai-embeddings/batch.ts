// More inputs than a supplier takes at once: the request is cut between them without being parsed again, and the
// answers are put together as if nobody had.
import type { Batching } from '../dialect.ts'
import { readAnswer, type Answer } from './answer.ts'
import { askedOf } from './asked.ts'
import { expressEntry, setMember } from './express.ts'
import { fieldKey } from './fields.ts'
import { Frame } from './list.ts'
import { findSplices } from './patch.ts'
import { printUsage, UNTOLD } from './usage.ts'

const INPUT = fieldKey('input')

export const batch: Batching = {
  split(body, facts, rewrite, most) {
    const { inputs, places } = askedOf(facts)
    const { value, to } = facts.layout.members.find(({ key }) => key === INPUT)!
    const frame = new Frame(body, { from: value, to }, findSplices(body, facts, rewrite))
    return cuts(inputs, Math.ceil(inputs / most)).map(([first, end]) => {
      const stretch = body.subarray(places[2 * first], places[2 * end - 1])
      return frame.around([stretch])
    })
  },

  join(answers, facts) {
    const asked = askedOf(facts)
    const pieces = cuts(asked.inputs, answers.length)
    const read = answers.map((bytes, number) => {
      const [first, end] = pieces[number]!
      return readAnswer(bytes, asked, end - first)
    })
    const items = read.flatMap(({ entries }, number) => {
      const [before] = pieces[number]!
      const bytes = answers[number]!
      return entries.map((each) => expressEntry(bytes, each, undefined, before + each.place))
    })
    const [whole] = read
    const usage = setMember(whole!.open, 'usage', whole!.usage, usageOf(read))
    return new Frame(answers[0]!, whole!.data, [usage]).around(items)
  },
}

/** Where pieces begin and end that are as even as can be: their number alone says what is in each. */
function cuts(inputs: number, pieces: number): readonly (readonly [first: number, end: number])[] {
  return Array.from({ length: pieces }, (_, piece) => [
    Math.floor((inputs * piece) / pieces),
    Math.floor((inputs * (piece + 1)) / pieces),
  ])
}

/** What one of them does not tell is missing from the sum, which then says nothing. */
function usageOf(answers: readonly Answer[]): string {
  let sum = 0
  for (const { reading } of answers) {
    if (reading.tokens === undefined) return 'null'
    sum += reading.tokens
  }
  return printUsage(UNTOLD.fields, sum)
}
