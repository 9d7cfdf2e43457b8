// Reads from a speech request what admission needs, in one pass, and refuses what every supplier would call wrong.
// Unknown fields pass; the supplier judges them.
import type { Facts } from '../dialect.ts'
import { fault, refuse, type Draft } from '../draft.ts'
import { isRefused, refuseField, type RefusedField } from '../refused.ts'
import {
  readBoolean,
  readMembers,
  readMetadata,
  readModel,
  readNumber,
  readRegion,
  readRequest,
  WORD_BYTES_MAX,
  type PromptField,
} from '../request.ts'
import type { SoundDetail } from '../sound.ts'
import { REQUEST_FIELDS, REQUEST_KEYS, VOICE_KEYS, type RequestField } from './fields.ts'
import { likelyTokens, mostTokens } from './length.ts'

/** What is heard of a request while it is read. */
interface Wish {
  characters: number
  /** Of the text, in UTF-8. */
  textBytes: number
  instructionBytes: number
  format: Format
  speed: number
}

type Format = keyof typeof TYPES
type Reader = (draft: Draft, wish: Wish) => void

const TYPES = { mp3: 'audio/mpeg', wav: 'audio/wav' } as const
const CHARACTERS_MAX = 4096
/** Two escapes of a surrogate pair: nothing takes more bytes for one code point. */
const BYTES_A_CHARACTER = 12
const SPEED = { from: 0.25, to: 4 }
/** Names of people, places and mixtures ("laidback woman", docs.together.ai, 2026-11); never a path. */
const VOICE = /^[\p{L}\p{N}_][\p{L}\p{N}_ .,:+()-]{0,63}$/u

const PROMPT: PromptField = {
  name: 'input',
  text: 'Send the text that is to be spoken in `input`.',
}

const READERS: Readonly<Record<Exclude<RequestField, RefusedField>, Reader>> = {
  model: readModel,
  input: readInput,
  voice: readVoice,
  response_format: readFormat,
  speed: (draft, wish) => (wish.speed = readNumber(draft, 'speed', SPEED) ?? 1),
  instructions: readInstructions,
  stream: readStream,
  stream_format: readStreamFormat,
  region: readRegion,
  metadata: readMetadata,
}
const READERS_BY_KEY = REQUEST_FIELDS.map((field): Reader =>
  isRefused(field) ? (draft) => refuseField(draft, field) : READERS[field],
)

export function peek(body: Uint8Array): Facts {
  const wish: Wish = { characters: 0, textBytes: 0, instructionBytes: 0, format: 'mp3', speed: 1 }
  const facts = readRequest(
    body,
    REQUEST_KEYS,
    (draft, key) => READERS_BY_KEY[key]!(draft, wish),
    PROMPT,
  )
  const { characters, textBytes, instructionBytes, format, speed } = wish
  const maxTokens = mostTokens(characters, speed)
  const detail: SoundDetail = {
    contentType: TYPES[format],
    audioTokens: likelyTokens(textBytes, speed),
  }
  return {
    ...facts,
    maxTokens,
    answersSound: true,
    detail,
    load: {
      ...facts.load,
      // What is read aloud, and how: the rest of the body is no text to anybody.
      bytes: textBytes + instructionBytes,
      maxTokens,
      asksAudio: true,
      units: { characters },
    },
  }
}

/** One message, so that there is something to be answered; nothing at all is told apart from it by whoever reads. */
function readInput(draft: Draft, wish: Wish): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'input', 'must be a string')
  if (cursor.isBlank()) return cursor.skip()
  const text = cursor.shortText(CHARACTERS_MAX * BYTES_A_CHARACTER)
  draft.load.messages = 1
  if (text === undefined || countCharacters(text) > CHARACTERS_MAX)
    return fault(
      draft,
      'validation_error',
      'input',
      `\`input\` exceeds ${CHARACTERS_MAX} characters, counted as Unicode code points. Send it in several requests.`,
    )
  if (text.trim() === '')
    return fault(draft, 'validation_error', 'input', '`input` holds nothing but white space.')
  wish.characters = countCharacters(text)
  wish.textBytes = Buffer.byteLength(text)
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

function readVoice(draft: Draft): void {
  const { cursor } = draft
  if (cursor.isString()) return readVoiceName(draft, 'voice')
  if (!cursor.isObject()) return refuse(draft, 'voice', 'must be the name of a voice')
  let isNamed = false
  readMembers(draft, VOICE_KEYS, () => {
    isNamed = true
    if (cursor.isString()) readVoiceName(draft, 'voice.id')
    else refuse(draft, 'voice.id', 'must be a string')
  })
  if (!isNamed) fault(draft, 'validation_error', 'voice.id', '`voice` must have an `id`.')
}

function readVoiceName(draft: Draft, field: string): void {
  const voice = draft.cursor.shortText(WORD_BYTES_MAX * 2)
  if (voice !== undefined && VOICE.test(voice)) return
  const text = `\`${field}\` must be the name of a voice: at most 64 letters, digits, spaces and . , : + - _ ( ).`
  fault(draft, 'validation_error', field, text)
}

function readFormat(draft: Draft, wish: Wish): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'response_format', 'must be mp3 or wav')
  const word = cursor.shortText(WORD_BYTES_MAX)
  if (word === 'mp3' || word === 'wav') wish.format = word
  else fault(draft, 'validation_error', 'response_format', '`response_format` must be mp3 or wav.')
}

function readInstructions(draft: Draft, wish: Wish): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'instructions', 'must be a string')
  const from = cursor.at
  cursor.skip()
  wish.instructionBytes = cursor.at - from - 2
}

function readStream(draft: Draft): void {
  if (!readBoolean(draft, 'stream')) return
  const text =
    'Remove `stream`: sound is not sent as events, and its bytes are sent as they come in any case.'
  fault(draft, 'unsupported_parameter', 'stream', text)
}

function readStreamFormat(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isString()) return refuse(draft, 'stream_format', 'must be audio')
  const word = cursor.shortText(WORD_BYTES_MAX)
  if (word === 'audio') return
  const text =
    '`stream_format` must be audio: sound is not sent as events, and its bytes are sent as they come.'
  const code = word === 'sse' ? 'unsupported_parameter' : 'validation_error'
  fault(draft, code, 'stream_format', text)
}
