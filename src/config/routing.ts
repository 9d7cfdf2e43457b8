// The part of the configuration file that says who answers which call: in which order, where, and for how long
// a session stays with whoever answered it.
import { z } from 'zod'

/** How those who serve a model are put in order. */
export const Policy = z.enum(['priority', 'weight', 'cheapest', 'fastest'])
export type Policy = z.infer<typeof Policy>

export const Weight = z.number().min(0).max(1_000_000).meta({ hint: 'a number such as 95' })

const Seconds = z.number().positive().max(86_400).meta({ hint: 'a number of seconds' })

export const Routing = z
  .strictObject({
    policy: Policy.default('priority').describe(
      'Who is asked first: as the suppliers stand in the file, by chance and weight, whoever is likely to cost least, or whoever was fastest of late. The others follow.',
    ),
    session_idle: Seconds.default(3600).describe(
      'How long a session without a call stays with the supplier that answered it last.',
    ),
    sessions: z
      .int()
      .min(0)
      .max(10_000_000)
      .default(50_000)
      .describe('How many sessions are remembered; 0 remembers none.')
      .meta({ hint: 'a whole number of sessions such as 50000' }),
    infer_sessions: z
      .boolean()
      .default(true)
      .describe('Take calls that name no session together by how their conversation begins.'),
  })
  .meta({ hint: 'choices by name, such as policy: cheapest' })

/** What is done where a request has to be put into another language. */
export const Conversion = z
  .strictObject({
    losses: z
      .enum(['tell', 'refuse'])
      .default('tell')
      .describe(
        'What becomes of a request that another language cannot say in full: it is sent and the answer tells what was lost, or it is refused with 400.',
      ),
  })
  .meta({ hint: 'choices by name, such as losses: refuse' })
