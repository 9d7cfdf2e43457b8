// The part of the configuration file that says how `auto` chooses a model: where it may be asked for, among which
// models, and what it looks for in them.
import { z } from 'zod'
import { Dollars } from './price.ts'

const ModelName = z.string().min(1).max(265).meta({ hint: 'the id of a model that is served' })

const PriceMax = z
  .strictObject({
    input: Dollars.optional().describe('A million input tokens.'),
    output: Dollars.optional().describe('A million output tokens.'),
  })
  .meta({ hint: 'input: and output: in dollars for a million tokens below it' })

export const Auto = z
  .strictObject({
    endpoints: z
      .array(
        z.enum(['messages', 'chat', 'responses']).meta({ hint: 'messages, chat or responses' }),
      )
      .default(['messages'])
      .describe('Where the model `auto` may be asked for; an empty list switches it off.')
      .meta({ hint: 'a list such as [messages, chat]' }),
    policy: z
      .enum(['cheapest', 'best'])
      .default('cheapest')
      .describe(
        'Which of the models that can do what a call needs: the one that is likely to cost least, or the first on the list of models (without a list: the dearest).',
      ),
    models: z
      .array(ModelName)
      .min(1)
      .max(200)
      .optional()
      .describe('Models to choose from, the best first. Without it: all that are served.')
      .meta({ hint: 'a list of models such as [large-model, small-model]' }),
    price_max: PriceMax.optional().describe(
      'Models that cost more than this, at anybody who could answer the call, are not chosen.',
    ),
  })
  .meta({ hint: 'choices by name, such as policy: best' })

export type AutoConfig = Readonly<z.output<typeof Auto>>
