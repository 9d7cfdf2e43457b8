// What of an answer our words have no place for: whole items and parts, what is added to them, and fields of the
// answer itself.
import { asNumber } from '../../exact-json.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
import { Lost } from '../../lost.ts'

/** What suppliers repeat of the request, and tell of themselves, of the call and of what it used. */
const ANSWER_FIELDS = new Set(
  (
    'id object created_at completed_at status error incomplete_details model output output_text usage tool_usage ' +
    'instructions max_output_tokens max_tool_calls metadata parallel_tool_calls previous_response_id conversation ' +
    'prompt prompt_cache_key prompt_cache_retention prompt_cache_options prompt_cache_diagnostics reasoning text ' +
    'safety_identifier service_tier store temperature tool_choice tools top_p top_logprobs truncation user ' +
    'background billing access_programs presence_penalty frequency_penalty content_filters provider'
  ).split(' '),
)
const ITEM_FIELDS: ReadonlyMap<unknown, ReadonlySet<string>> = new Map([
  ['message', new Set(['type', 'id', 'status', 'role', 'content'])],
  ['reasoning', new Set(['type', 'id', 'status', 'summary', 'content', 'encrypted_content'])],
  ['function_call', new Set(['type', 'id', 'status', 'call_id', 'name', 'arguments'])],
])
const NONE: ReadonlySet<string> = new Set()
const PART_FIELDS = new Set(['type', 'text', 'refusal'])

export class AnswerLost extends Lost {
  /** A whole item of a kind that has no counterpart. */
  addItem(kind: unknown): void {
    this.addNamed('/output/*', kind)
  }

  addItemFields(item: Fields): void {
    this.addOthers('/output/*', item, ITEM_FIELDS.get(item['type']) ?? NONE, saysNothing)
  }

  /** A part of a message, by its kind. */
  addPart(kind: unknown): void {
    this.addNamed('/output/*/content/*', kind)
  }

  addPartFields(part: Fields): void {
    this.addOthers('/output/*/content/*', part, PART_FIELDS, saysNothing)
  }

  addAnswerFields(answer: Fields): void {
    this.addOthers('', answer, ANSWER_FIELDS, isAside)
  }
}

/** A model that has called by itself, and waits for what comes of it, is the rule. */
function saysNothing(value: unknown, name: string): boolean {
  if (isBlank(value) || value === false) return true
  return name === 'caller' && isFields(value) && value['type'] === 'direct'
}

/** A number or a flag tells of the call and not of the answer. */
function isAside(value: unknown): boolean {
  return typeof asNumber(value) === 'number' || typeof value === 'boolean' || isBlank(value)
}
