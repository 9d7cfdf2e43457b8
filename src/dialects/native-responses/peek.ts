// Reads a native request as any other of its language, in the same one pass, with what is particular to native agents:
// a list to answer, always a stream, and tools of the supplier's that they name in every request.
import { invalid } from '../../core/problem.ts'
import type { Facts } from '../dialect.ts'
import { refuse, type Draft } from '../draft.ts'
import { fieldKey, KEPT_FIELDS, REQUEST_KEYS } from '../openai-responses/fields.ts'
import { readField } from '../openai-responses/peek.ts'
import { readRequest, type PromptField } from '../request.ts'

const INPUT = fieldKey('input')
const STREAM = fieldKey('stream')
const TOOLS = fieldKey('tools')
const KEPT: readonly number[] = KEPT_FIELDS.map(fieldKey)
/** They go on from what one supplier has kept. A prompt by its id begins something. */
const RESUMED: readonly number[] = [fieldKey('previous_response_id'), fieldKey('conversation')]

// Agents print what refuses them as it comes, so every text here is short.
const PROMPT: PromptField = { name: 'input', text: 'Send at least one item in `input`.' }

export function peek(body: Uint8Array): Facts {
  let resumes = false
  const facts = readRequest(
    body,
    REQUEST_KEYS,
    (draft, key) => {
      resumes ||= RESUMED.includes(key)
      read(draft, key)
    },
    PROMPT,
  )
  if (!facts.stream) throw invalid('stream', '`stream` must be true: answers are always streamed.')
  return { ...facts, resumes }
}

function read(draft: Draft, key: number): void {
  if (key === STREAM) readStream(draft)
  else if (key === INPUT) readList(draft)
  else if (key === TOOLS) readBounded(draft, key)
  else if (KEPT.includes(key)) readKept(draft, key)
  else readField(draft, key)
}

/** What is anything but true is refused in the end, in one sentence. */
function readStream(draft: Draft): void {
  draft.stream = draft.cursor.startsWith('true')
  draft.cursor.skip()
}

function readList(draft: Draft): void {
  if (draft.cursor.isArray()) readBounded(draft, INPUT)
  else refuse(draft, 'input', 'must be a list of items')
}

/**
 * A tool that runs at the supplier is in nearly every request of an agent, and no key with a budget could be used if
 * nothing bounded that. What it finds has to fit into the model's window, and that much is set aside.
 */
function readBounded(draft: Draft, key: number): void {
  const { load } = draft
  const { unbounded } = load
  load.unbounded = undefined
  readField(draft, key)
  load.elsewhere ??= load.unbounded
  load.unbounded = unbounded
}

/** What was said before is nothing to be answered: there has to be an item beside it. */
function readKept(draft: Draft, key: number): void {
  const { messages } = draft.load
  readField(draft, key)
  draft.load.messages = messages
}
