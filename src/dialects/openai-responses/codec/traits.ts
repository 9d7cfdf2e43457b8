// What this language can say of each trait of a conversation, and how. The page on conversion is made of it.
import type { Trait } from '../../../core/chat.ts'
import type { TraitNote } from '../../codec.ts'
import { kept, lost, worded } from '../../trait.ts'

const ITEM = '/input/*'
const CONTENT = `${ITEM}/content`
const PART = `${CONTENT}/*`
const OUTPUT = `${ITEM}/output`
const CACHE = `${PART}/prompt_cache_breakpoint`

export const traits: Readonly<Record<Trait, TraitNote>> = {
  system: kept(
    '`instructions`; several texts are a system message before all other items.',
    '/instructions',
  ),
  system_between: kept('A system message in its place.', CONTENT),
  text: kept('A text, or a list of parts where there are several.', CONTENT),
  image_data: kept('An address that holds the data in base64.', `${PART}/image_url`),
  image_url: kept('The address.', `${PART}/image_url`),
  image_id: lost(
    'An id means something to one supplier alone, so the image is left out.',
    `${PART}/file_id`,
  ),
  image_detail: kept('The word as it was given; `auto` where there is none.', `${PART}/detail`),
  file_data: kept('An address that holds the data in base64.', `${PART}/file_data`),
  file_url: kept('The address.', `${PART}/file_url`),
  file_id: lost(
    'An id means something to one supplier alone, so the file is left out.',
    `${PART}/file_id`,
  ),
  file_text: worded('Its name and its text become a part of text.'),
  file_name: kept(
    'A file without a name is called `unnamed.pdf`. One that is given by its address has none: both together are refused.',
    `${PART}/filename`,
  ),
  audio: lost('There is no part for sound.'),
  tools: kept(
    'Functions with their schemas as they are. Names of more than 64 characters are shortened on the way and whole again in the answer.',
    '/tools',
  ),
  tool_strict: kept(
    'Always said, because here a function is strict without a word. As it was given, unless the schema leaves something open: then the tool is not strict.',
    '/tools/*/strict',
  ),
  tool_choice: kept('`auto`, `required`, `none`, or a function by its name.', '/tool_choice'),
  parallel_tools: kept('Sent with tools only.', '/parallel_tool_calls'),
  calls: kept(
    'An item each, in its place, with the same id, or with one made of it where it has more than 64 characters.',
    `${ITEM}/function_call`,
  ),
  call_input: kept(
    'The text that the model wrote, whatever it is; `{}` for none.',
    `${ITEM}/arguments`,
  ),
  results: kept('An item each; the rest of the turn follows in a user message.', OUTPUT),
  result_error: worded('The text of the result begins with `Error: `.'),
  result_image: kept('A part of the result.', `${OUTPUT}/*/image_url`),
  result_file: kept('A part of the result.', `${OUTPUT}/*/input_file`),
  thinking: kept(
    'The summary of a reasoning item, for the supplier that has sealed it. To others, and without a seal, it is not sent.',
    `${ITEM}/summary`,
  ),
  seal: kept(
    'Handed back to the supplier that made it, and to no other. It is asked for wherever a model is asked to think.',
    `${ITEM}/encrypted_content`,
  ),
  refusal: kept('A part of the message.', `${PART}/refusal`),
  stop: lost('There is no field for it.'),
  max_tokens: kept('At least 1.', '/max_output_tokens'),
  temperature: kept('As it was given. Left out for a model that refuses it.', '/temperature'),
  top_p: kept('As it was given. Left out for a model that refuses it.', '/top_p'),
  top_k: lost('There is no field for it.'),
  seed: lost('There is no field for it.'),
  penalties: lost('There are no fields for them.'),
  json: kept('`json_object`.', '/text/format'),
  schema: kept(
    'A schema that leaves nothing open is sent as strict, unless the request says otherwise.',
    '/text/format',
  ),
  schema_name: kept('A schema without a name is called `answer`.', '/text/format/description'),
  reasoning: worded(
    'One word for the effort, `high` at most, and a budget in tokens becomes a word; not to think at all is left unsaid, and nothing is sent to models that cannot think.',
    '/reasoning/effort',
  ),
  user: kept('Up to 64 characters; a longer one is left out.', '/user'),
  cache: lost(
    'Models behind this interface cache by themselves, and only the newest take marks.',
    CACHE,
  ),
  cache_long: lost(
    'Models behind this interface cache by themselves, for as long as they see fit.',
    `${CACHE}/ttl`,
  ),
}
