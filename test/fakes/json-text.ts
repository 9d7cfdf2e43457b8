// Chat requests as text in every spelling that JSON allows: white space, order of members, escapes,
// ways to write a number, fields that nobody knows.
import fc from 'fast-check'

export const space = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', ' \n  ')

const unit = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }).map(plainly),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u00e9', '\\uD83D\\uDE00', '\\ud800'),
  },
  { weight: 1, arbitrary: fc.constantFrom('é', '😀', '\u2028', '\u007f', '{', '}', '[', ',', ':') },
)
export const stringText = fc.array(unit, { maxLength: 6 }).map((units) => `"${units.join('')}"`)
const numberText = fc.constantFrom(
  '0',
  '-0',
  '1',
  '1.50',
  '-2.0',
  '1e5',
  '1E+2',
  '0.1e-7',
  '9007199254740993',
)
const wordText = fc.constantFrom('true', 'false', 'null')

function plainly(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function commaed(items: readonly (readonly [string, string, string])[]): string {
  return items.map(([before, item, after]) => before + item + after).join()
}

export const { value: jsonText } = fc.letrec<{ value: string; list: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      stringText,
      numberText,
      wordText,
      tie('list'),
      tie('object'),
    ),
    list: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((items) => `[${commaed(items)}]`),
    object: fc
      .array(fc.tuple(space, memberOf(stringText, tie('value')), space), { maxLength: 4 })
      .map((items) => `{${commaed(items)}}`),
  }),
)

function memberOf(name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(name, space, space, value)
    .map(([key, before, after, text]) => `${key}${before}:${after}${text}`)
}

export const READ_FIELDS = [
  'model',
  'messages',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'temperature',
  'top_p',
  'region',
  'metadata',
  'tools',
  'response_format',
  'api_key',
  'base_url',
  'api_base',
  'custom_host',
]
const INNER_FIELDS = ['session_id', 'sticky_key', 'include_usage']

function isUnread(text: string): boolean {
  const name = String(JSON.parse(text)).toUpperCase().toLowerCase()
  return !READ_FIELDS.includes(name) && !INNER_FIELDS.includes(name)
}

export const extra = memberOf(
  fc.oneof(stringText, fc.constantFrom('"user"', '"x_models"', '"tool_choice"')).filter(isUnread),
  jsonText,
)

function objectOf(
  listed: Readonly<Record<string, fc.Arbitrary<string>>>,
  others = fc.array(extra, { maxLength: 3 }),
): fc.Arbitrary<string> {
  const members = Object.entries(listed).map(([name, value]) =>
    memberOf(fc.constant(`"${name}"`), value),
  )
  return fc
    .tuple(fc.subarray(members), others)
    .chain(([chosen, unlisted]) =>
      shuffled([...chosen, ...unlisted.map((each) => fc.constant(each))]),
    )
    .map((text) => `{${text}}`)
}

function shuffled(members: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc
    .shuffledSubarray([...members], { minLength: members.length })
    .chain((order) => fc.tuple(...order.map((member) => fc.tuple(space, member, space))))
    .map(commaed)
}

const optionalMembers: Readonly<Record<string, fc.Arbitrary<string>>> = {
  stream: fc.constantFrom('true', 'true', 'true', 'false', 'null'),
  region: fc.constantFrom('"EU"', '"eu"', '"\\u0065u"', 'null'),
  metadata: fc.oneof(
    objectOf({
      session_id: fc.constantFrom('"s"', 'null', '"\\u00e9"'),
      sticky_key: fc.constant('"k"'),
    }),
    fc.constantFrom(
      'null',
      '{}',
      '{ }',
      '{"session_id":"s"}',
      '{ "sticky_key" : "k" , "session_id":null }',
    ),
  ),
  stream_options: fc.oneof(
    objectOf({ include_usage: fc.constantFrom('true', 'false', 'null') }),
    fc.constantFrom('null', '{}', '{\n}'),
  ),
  max_tokens: fc.constantFrom('1', '1e2', '64', 'null'),
  max_completion_tokens: fc.constantFrom('7', 'null'),
  n: fc.constantFrom('1', '2', 'null'),
  temperature: fc.constantFrom('0.50', '2', '0e0', 'null'),
  top_p: fc.constantFrom('1.0', 'null'),
  tools: fc.constantFrom('[]', '[ {"type":"function"} ]', 'null'),
  response_format: fc.constantFrom(
    '{"type":"json_object"}',
    '{ "type" : "text", "more":1.0}',
    'null',
  ),
}

const message = fc.oneof(
  memberOf(fc.constant('"content"'), stringText).map((content) => `{"role":"user", ${content}}`),
  fc
    .tuple(stringText, extra)
    .map(
      ([text, more]) => `{ "role":"assistant","content":[{"type":"text","text":${text}}],${more}}`,
    ),
)

/** Any chat request as a caller might spell it. */
export const requestText = fc
  .tuple(
    fc.subarray(Object.keys(optionalMembers)),
    fc.array(message, { minLength: 1, maxLength: 3 }),
    fc.array(extra, { maxLength: 3 }),
    fc.tuple(space, space, fc.constantFrom('"test-model"', '"test\\u002dmodel"')),
  )
  .chain(([chosen, messages, extras, [before, after, model]]) =>
    shuffled([
      memberOf(fc.constant('"model"'), fc.constant(model)),
      memberOf(fc.constant('"messages"'), fc.constant(`[${messages.join()}]`)),
      ...chosen.map((name) => memberOf(fc.constant(`"${name}"`), optionalMembers[name]!)),
      ...extras.map((each) => fc.constant(each)),
    ]).map((members) => `${before}{${members}}${after}`),
  )
