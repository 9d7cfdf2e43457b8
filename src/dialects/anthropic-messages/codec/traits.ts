// What this language can say of each trait of a conversation, and how. The page on conversion is made of it.
import type { Trait } from '../../../core/chat.ts'
import type { TraitNote } from '../../codec.ts'
import { kept, lost, worded } from '../../trait.ts'

const BLOCK = '/messages/*/content/*'
const MARKED = ['/system/*', BLOCK, '/tools/*'] as const

export const traits: Readonly<Record<Trait, TraitNote>> = {
  system: kept(
    'Text blocks of `system`, in their order; a user message where there is no other.',
    '/system',
  ),
  system_between: worded(
    'A text between `<system>` and `</system>` in the user message that follows, behind its results; one of its own where none follows. A message of the role system is taken by the newest models alone.',
    '/messages/*/role',
  ),
  text: kept(
    'Text blocks. A text of nothing but white space is refused by suppliers and left out.',
    `${BLOCK}/text`,
  ),
  image_data: kept(
    'An image block with a base64 source. Its type is read from its first bytes, and else is the one that was told.',
    `${BLOCK}/source/data`,
  ),
  image_url: kept('An image block with a url source.', `${BLOCK}/source/url`),
  image_id: lost(
    'An uploaded image is known to the supplier alone that it was uploaded to.',
    `${BLOCK}/source/file_id`,
  ),
  image_detail: lost('How closely an image is looked at is for the model to decide.'),
  file_data: kept(
    'A document block: a PDF as base64, any text as text. No other kind of file is taken, and no blank text.',
    `${BLOCK}/source/data`,
  ),
  file_url: kept('A document block with a url source.', `${BLOCK}/source/url`),
  file_id: lost(
    'An uploaded file is known to the supplier alone that it was uploaded to.',
    `${BLOCK}/source/file_id`,
  ),
  file_text: kept(
    'A document block with a text source; a blank one is refused by suppliers and left out.',
    `${BLOCK}/source/data`,
  ),
  file_name: kept('The title of a document block.', `${BLOCK}/title`),
  audio: lost('There is no block for sound.'),
  tools: kept(
    'Tools with their schema as it is. One without a schema gets that of an empty object. Of two with one name the last one counts.',
    '/tools',
  ),
  tool_strict: kept(
    '`strict` of a tool, whose schema is put as that of an answer is; left out where it cannot be.',
    '/tools/*/strict',
  ),
  tool_choice: kept(
    'auto, any, none, or a tool by its name; only beside tools. A model that always thinks cannot be made to call one: it is told auto.',
    '/tool_choice',
  ),
  parallel_tools: kept(
    '`disable_parallel_tool_use` of the tool choice; left out where no tool is to be called.',
    '/tool_choice/disable_parallel_tool_use',
  ),
  calls: kept(
    'A tool_use block with the same id, or with one made of it where it has other characters than letters, digits, _ and -, or was used before.',
    `${BLOCK}/tool_use`,
  ),
  call_input: lost(
    'The input of a call must be an object: text that is none is sent as an empty one.',
    `${BLOCK}/input`,
  ),
  results: kept(
    'A tool_result block with the id of its call, before everything else in its message.',
    `${BLOCK}/tool_result`,
  ),
  result_error: kept('`is_error` of the result.', `${BLOCK}/is_error`),
  result_image: kept('An image block in the result.', `${BLOCK}/content/*/image`),
  result_file: kept('A document block in the result.', `${BLOCK}/content/*/document`),
  thinking: kept(
    'A thinking block, for the supplier that has sealed it. To others, and without a seal, it is not sent.',
    `${BLOCK}/thinking`,
  ),
  seal: kept(
    'The signature of a thinking block, or a redacted_thinking block, for the supplier that has made it.',
    `${BLOCK}/signature`,
    `${BLOCK}/redacted_thinking`,
  ),
  refusal: worded('What was said in refusal is a text block.'),
  stop: kept(
    '`stop_sequences`, without those of nothing but white space, which suppliers refuse.',
    '/stop_sequences',
  ),
  max_tokens: kept(
    'Always sent: where the caller sets no limit, the highest that the call was admitted with.',
    '/max_tokens',
  ),
  temperature: kept(
    'From 0 to 1: more is sent as 1. A model that thinks takes 1 alone, so others are left out then. Left out for a model that refuses it.',
    '/temperature',
  ),
  top_p: kept(
    'Left out beside a temperature, because newer models take one of them, below 0.95 for a model that thinks, and for a model that refuses it.',
    '/top_p',
  ),
  top_k: kept('Left out for a model that thinks, and for one that refuses it.', '/top_k'),
  seed: lost('There is no field for it.'),
  penalties: lost('There are no fields for them.'),
  json: lost('JSON is answered by a schema only: send one, or ask for JSON in words.'),
  schema: kept(
    'A json_schema in `output_config.format`. Objects that do not say so are closed, and limits that suppliers do not check are said in descriptions. Left out where an object of it is open on purpose, or where it refers to itself.',
    '/output_config/format',
  ),
  schema_name: lost('A schema has no name and no description of its own.'),
  reasoning: worded(
    'As the model is told it: adaptive thinking with an effort, or a budget of tokens within the limit. Not sent beside a tool that must be called, nor in the middle of calls whose thoughts were not sent along. Some models cannot be told not to think.',
    '/thinking',
    '/output_config/effort',
  ),
  user: kept('`metadata.user_id`, of at most 256 characters.', '/metadata/user_id'),
  cache: kept(
    '`cache_control` where the mark stands. Of more than four the last ones are sent.',
    ...MARKED.map((place) => `${place}/cache_control`),
  ),
  cache_long: lost(
    'What is converted is kept for minutes: an hour has a price of its own.',
    ...MARKED.map((place) => `${place}/cache_control/ttl`),
  ),
}
