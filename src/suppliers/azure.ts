// Azure OpenAI: models are deployments that the operator has named, and an address is made for each
// account. The interface has versions; `v1` is the present one, the dated ones put the deployment in the
// path (learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle, seen 2026-11).
import type { Quirks } from '../dialects/quirk.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import type { Kind, KindService, KindVersion } from './kind.ts'

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

/** Reasoning models refuse the old name of the limit, all others know the new one. */
const PRESENT: KindVersion = {
  services: [
    chat(PRESENT_PATH, { usage: 'ask', maxTokensName: 'max_completion_tokens' }),
    RESPONSES,
  ],
}

export const azure: Kind = {
  id: 'azure',
  services: [chat(PRESENT_PATH, { usage: 'ask' }), RESPONSES],
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
    const path = `/openai/deployments/{model}/chat/completions?api-version=${version}`
    return { services: [chat(path, { usage: 'ask' })] }
  },
}
