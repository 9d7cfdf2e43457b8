// Azure OpenAI: models are deployments that the operator has named, and an address is made for each
// account. The interface has versions; `v1` is the present one, the dated ones put the deployment in the
// path (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle, seen 2026-11).
import type { Quirks } from '../dialects/quirk.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import type { Kind, KindService, KindVersion } from './kind.ts'
import { embeddings, speech, transcriptions } from './tasks.ts'

/** Earlier ones refuse the question for usage, and a stream would be served unpaid (griptape #1640, 2025-02). */
const OLDEST = '2024-09-01'

const PRESENT_PATH = '/openai/v1/chat/completions'

/** Offered by the present version for all that is new (learn.microsoft.com/azure/foundry/openai/how-to/responses, seen 2026-11). */
const RESPONSES: KindService = {
  dialect: openaiResponses,
  path: '/openai/v1/responses',
  signature: 'api-key',
  quirks: { usage: 'always' },
}

function chat(path: string, quirks: Quirks): KindService {
  return { dialect: openaiChat, path, signature: 'api-key', quirks }
}

const SIGNED = { signature: 'api-key' } as const
/** An input is one of 2048 at most, however long it is (MicrosoftDocs/azure-docs #124129, 2024-08). */
const BATCHED = { ...SIGNED, inputsMax: 2048 } as const
/** A voice is demanded, as by the maker. */
const VOICED = { ...SIGNED, default: { voice: 'alloy' } } as const

/**
 * What the present version has beside chats. Transcripts are not among it: its own address knows no deployments, and
 * the dated one does (OpenWhispr #2038, 2026-09; vercel/ai #7985, 2025-08). Speech is still called a preview
 * (learn.microsoft.com/azure/ai-services/openai/reference-preview-latest, seen 2026-11).
 */
const PRESENT_TASKS: readonly KindService[] = [
  embeddings('/openai/v1/embeddings', BATCHED),
  transcriptions(deployed('audio/transcriptions', '2025-03-01-preview'), SIGNED),
  speech('/openai/v1/audio/speech?api-version=preview', VOICED),
]

/** Reasoning models refuse the old name of the limit, all others know the new one. */
const PRESENT: KindVersion = {
  services: [
    chat(PRESENT_PATH, { usage: 'ask', maxTokensName: 'max_completion_tokens' }),
    RESPONSES,
    ...PRESENT_TASKS,
  ],
}

/** The dated versions put the deployment in the path. */
function deployed(what: string, version: string): string {
  return `/openai/deployments/{model}/${what}?api-version=${version}`
}

/** Of the dated versions only the previews speak: their final ones describe no such path (2024-10-21). */
function datedTasks(version: string): readonly KindService[] {
  const heard = [
    embeddings(deployed('embeddings', version), BATCHED),
    transcriptions(deployed('audio/transcriptions', version), SIGNED),
  ]
  if (!version.endsWith('-preview')) return heard
  return [...heard, speech(deployed('audio/speech', version), VOICED)]
}

export const azure: Kind = {
  id: 'azure',
  services: [chat(PRESENT_PATH, { usage: 'ask' }), RESPONSES, ...PRESENT_TASKS],
  environment: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
  servesOwn: true,
  versionOf(version) {
    if (version === undefined)
      return { reason: 'is missing: write v1, or a dated version such as 2024-10-21' }
    if (version === 'v1') return PRESENT
    if (!/^\d{4}-\d{2}-\d{2}(?:-preview)?$/.test(version))
      return { reason: 'is no version: write v1, or a dated one such as 2024-10-21' }
    if (version < OLDEST)
      return {
        reason: `is too old to tell what a stream has used: write v1, or ${OLDEST} or later`,
      }
    // The dated versions do not all know the new name (their own descriptions, 2024-10-21), so that the
    // caller's is left alone.
    const chats = chat(deployed('chat/completions', version), { usage: 'ask' })
    return { services: [chats, ...datedTasks(version)] }
  },
}
