// The part of the configuration file that says where a supplier departs from the language that it speaks.
import { z } from 'zod'

const FieldName = z.string().min(1).meta({ hint: 'the name of a field of the request' })

export const Quirks = z
  .strictObject({
    usage: z
      .enum(['ask', 'always', 'never'])
      .optional()
      .describe('How a stream tells its usage: when asked, unasked, or not at all.'),
    max_tokens_name: z
      .enum(['max_tokens', 'max_completion_tokens'])
      .optional()
      .describe('The one name of the output limit that the supplier understands.'),
    output_limit: z
      .enum(['refused'])
      .optional()
      .describe(
        'The supplier refuses to be given a limit of the output. Then none is sent but the one that a caller sends, and budgets must cover the longest answer.',
      ),
    rename: z
      .record(FieldName, FieldName)
      .optional()
      .describe('Fields of the request that the supplier calls by another name.')
      .meta({ hint: 'one field a line with its other name, such as user: end_user' }),
    drop: z
      .array(FieldName)
      .optional()
      .describe('Fields of the request that the supplier refuses and that may be left out.')
      .meta({ hint: 'a list such as [logit_bias, user]' }),
    default: z
      .record(FieldName, z.json())
      .optional()
      .describe('Fields that are added where the caller sends none.')
      .meta({ hint: 'one field a line with its value, such as temperature: 0' }),
    normalize: z
      .boolean()
      .optional()
      .describe('Fill in what the answers of this supplier lack of the usual shape.'),
    thoughts: z
      .enum(['reasoning_content', 'reasoning', 'none'])
      .optional()
      .describe(
        'The name by which the supplier takes back what its model has thought, in requests that are converted. Without it, unless the kind has one: none.',
      ),
    call_ids: z
      .enum(['nine'])
      .optional()
      .describe(
        'The supplier takes only ids of calls that have nine letters and digits. In requests that are converted.',
      ),
    strict_order: z
      .boolean()
      .optional()
      .describe(
        'The supplier refuses a user right behind results, and system messages between others. In requests that are converted.',
      ),
    rerank_shape: z
      .enum(['top_n', 'top_k', 'texts'])
      .optional()
      .describe(
        'How the supplier is asked for rankings: for the first so many by the one name or the other, or by `texts` and for all of them. Without it, unless the kind has another one: top_n.',
      ),
  })
  .meta({ hint: 'quirks by name, such as usage: always' })
