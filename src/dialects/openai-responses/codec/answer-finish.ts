// Why an answer ends, in the words of this language and in ours. It has a status and, for what was cut, a reason: a
// word that nobody knows is never read as that of a complete answer.
import type { Finish } from '../../../core/chat.ts'
import { asFields, type Fields } from '../../json.ts'

const COMPLETE = 'completed'
const FILTERED = 'content_filter'
const AT_LIMIT = 'max_output_tokens'

/** What an answer holds that bears on why it ends. */
export interface Said {
  readonly hasCalls: boolean
  readonly hasRefusal: boolean
}

export function readFinish(response: Fields, said: Said): Finish {
  const cause = wordIn(asFields(response['incomplete_details'])?.['reason'])
  const status = wordIn(response['status'])
  const isWhole = cause === undefined && (status ?? COMPLETE) === COMPLETE
  return { reason: isWhole ? wholeReason(said) : cutReason(cause), raw: cause ?? status }
}

function wordIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function wholeReason({ hasCalls, hasRefusal }: Said): Finish['reason'] {
  if (hasRefusal) return 'refusal'
  return hasCalls ? 'tools' : 'end'
}

/** Whatever else stopped it, a caller that takes it for complete would act on half an answer. */
function cutReason(cause: string | undefined): Finish['reason'] {
  return cause === FILTERED ? 'refusal' : 'length'
}

/** What is told to have cut an answer; undefined for one that is complete. A refusal in words is. */
export function writeCause({ reason }: Finish, hasRefusal: boolean): string | undefined {
  if (reason === 'length' || reason === 'window') return AT_LIMIT
  return reason === 'refusal' && !hasRefusal ? FILTERED : undefined
}
