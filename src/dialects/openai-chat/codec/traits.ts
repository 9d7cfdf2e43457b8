// What this language can say of each trait of a conversation, and how. The page on conversion is made of it.
import type { Trait } from '../../../core/chat.ts'
import type { TraitNote } from '../../codec.ts'
import { kept, lost, worded } from '../../trait.ts'

const CONTENT = '/messages/*/content'
const PART = `${CONTENT}/*`
const CALL = '/messages/*/tool_calls/*'

export const traits: Readonly<Record<Trait, TraitNote>> = {
  system: kept('One system message before all others.', CONTENT),
  system_between: kept(
    'A system message in its place. For a supplier that refuses it there, a user message between `<system>` and `</system>`.',
    CONTENT,
  ),
  text: kept('A text, or a list of parts where there are several.', CONTENT),
  image_data: kept('An address that holds the data in base64.', `${PART}/image_url`),
  image_url: kept('The address.', `${PART}/image_url`),
  image_id: lost(
    'An id means something to one supplier alone, so the image is left out.',
    `${PART}/file_id`,
  ),
  image_detail: kept('The word as it was given.', `${PART}/image_url/detail`),
  file_data: kept('An address that holds the data in base64.', `${PART}/file/file_data`),
  file_url: lost('Files have no address here, so the file is left out.', `${PART}/file/file_url`),
  file_id: lost(
    'An id means something to one supplier alone, so the file is left out.',
    `${PART}/file/file_id`,
  ),
  file_text: worded('Its name and its text become a part of text.'),
  file_name: kept('A file without a name is called `unnamed.pdf`.', `${PART}/file/filename`),
  audio: kept('Data and format.', `${PART}/input_audio`),
  tools: kept(
    'Functions with their schemas as they are. Names of more than 64 characters are shortened on the way and whole again in the answer.',
    '/tools',
  ),
  tool_strict: kept(
    'As it was given, unless the schema leaves something open: then the tool is not strict.',
    '/tools/*/function/strict',
  ),
  tool_choice: kept('`auto`, `required`, `none`, or a function by its name.', '/tool_choice'),
  parallel_tools: kept('Sent with tools only.', '/parallel_tool_calls'),
  calls: kept(
    'What the turn says stands before its calls. Ids of more than 40 characters are shortened, and all that a supplier would refuse.',
    CALL,
  ),
  call_input: kept(
    'The text that the model wrote, whatever it is; `{}` for none.',
    `${CALL}/function/arguments`,
  ),
  results: kept('One tool message each; the rest of the turn follows in a user message.', CONTENT),
  result_error: worded('The text of the result begins with `Error: `.'),
  result_image: worded(
    'Tool messages hold only text, so images follow in the user message, each behind a line that says whose it is.',
  ),
  result_file: worded(
    'Tool messages hold only text, so files follow in the user message, each behind a line that says whose it is.',
  ),
  thinking: kept(
    'Handed back to the supplier whose model thought it, where that takes thoughts back, and to no other: there it is left out.',
    '/messages/*/reasoning_content',
  ),
  seal: kept(
    'Handed back to the supplier that made it, where it stood, and to no other.',
    '/messages/*/reasoning_details',
  ),
  refusal: kept('A field of the message, beside its content.', '/messages/*/refusal'),
  stop: kept('A list. Some suppliers refuse one of more than four texts.', '/stop'),
  max_tokens: kept('By the name that the supplier knows; at least 1.', '/max_tokens'),
  temperature: kept('As it was given. Left out for a model that refuses it.', '/temperature'),
  top_p: kept('As it was given. Left out for a model that refuses it.', '/top_p'),
  top_k: lost('Most suppliers refuse it, so it is left out.', '/top_k'),
  seed: kept('As it was given.', '/seed'),
  penalties: kept(
    'As they were given. Left out for a model that refuses them.',
    '/presence_penalty',
    '/frequency_penalty',
  ),
  json: kept('`json_object`.', '/response_format'),
  schema: kept(
    'A schema that leaves nothing open is sent as strict, unless the request says otherwise.',
    '/response_format',
  ),
  schema_name: kept(
    'A schema without a name is called `answer`.',
    '/response_format/json_schema/description',
  ),
  reasoning: worded(
    'One word for the effort, `high` at most, and a budget in tokens becomes a word; not to think at all is left unsaid, and nothing is sent to models that cannot think, or not beside tools.',
    '/reasoning_effort',
  ),
  user: kept('Up to 64 characters; a longer one is left out.', '/user'),
  cache: lost(
    'Models behind this interface cache by themselves, and their suppliers refuse marks or ignore them.',
    `${PART}/cache_control`,
  ),
  cache_long: lost(
    'Models behind this interface cache by themselves, for as long as they see fit.',
    `${PART}/cache_control/ttl`,
  ),
}
