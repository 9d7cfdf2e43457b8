// Suppliers that speak a language we know and differ by address, path and habits alone. A new one is a row
// here, not a file. Habits are as seen in public documentation and code up to 2026-11.
import { anthropicMessages } from '../dialects/anthropic-messages/index.ts'
import type { Quirks } from '../dialects/quirk.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { openaiResponses } from '../dialects/openai-responses/index.ts'
import type { Kind, KindService } from './kind.ts'
import type { Signature } from './supplier.ts'
import { embeddings, reranking, speech, transcriptions } from './tasks.ts'

const CHAT_PATH = '/v1/chat/completions'
const RESPONSES_PATH = '/v1/responses'
const EMBEDDINGS_PATH = '/v1/embeddings'
const RERANK_PATH = '/v1/rerank'
const TRANSCRIPTIONS_PATH = '/v1/audio/transcriptions'
const SPEECH_PATH = '/v1/audio/speech'

function chat(path: string, quirks: Quirks): KindService {
  return { dialect: openaiChat, path, signature: 'bearer', quirks }
}

/** Usage is part of every answer in this language. */
function messages(path: string, signature: Signature = 'bearer'): KindService {
  return { dialect: anthropicMessages, path, signature, quirks: { usage: 'always' } }
}

/** Usage is part of every answer in this language, too. */
function responses(path: string): KindService {
  return { dialect: openaiResponses, path, signature: 'bearer', quirks: { usage: 'always' } }
}

/** Where the language is at home, and whoever keeps to its ways. */
const MESSAGES: KindService = {
  ...messages('/v1/messages', 'x-api-key'),
  countPath: '/v1/messages/count_tokens',
}

export const compatible: readonly Kind[] = [
  {
    id: 'openai',
    origin: 'https://api.openai.com',
    // Those that the maker's own client knows (openai-node, src/internal/data-residency.ts, seen 2026-11).
    regions: {
      EU: 'https://eu.api.openai.com',
      US: 'https://us.api.openai.com',
      AE: 'https://ae.api.openai.com',
    },
    environment: ['OPENAI_API_KEY'],
    // Reasoning models refuse the old name of the limit, all others know the new one. Takes 2048 inputs at once
    // (MicrosoftDocs/azure-docs #124129, 2024-08), and demands a voice (openai-node, src/resources/audio/speech.ts,
    // seen 2026-11). Which formats of a transcript it has depends on the model, so that it judges by itself.
    services: [
      chat(CHAT_PATH, { usage: 'ask', maxTokensName: 'max_completion_tokens' }),
      responses(RESPONSES_PATH),
      embeddings(EMBEDDINGS_PATH, { inputsMax: 2048 }),
      transcriptions(TRANSCRIPTIONS_PATH),
      speech(SPEECH_PATH, { default: { voice: 'alloy' } }),
    ],
  },
  {
    // Its own language alone. The layer that it has for chats is not asked: that drops fields in silence,
    // `response_format` among them (platform.claude.com/docs/en/api/openai-sdk, seen 2026-11).
    id: 'anthropic',
    origin: 'https://api.anthropic.com',
    environment: ['ANTHROPIC_API_KEY'],
    services: [MESSAGES],
  },
  {
    // Refuses fields that it does not know: answers 422 to `stream_options` (avante.nvim #2347, 2025-06),
    // to `store` and to the new name of the limit (openclaude #739, 2026-04), and tells usage unasked. The
    // plain origin promises no place any more (docs.mistral.ai/studio/regional-inference, seen 2026-11). Its ids and
    // the order of its messages are those of mistral-common's validator (seen 2026-11; hermes-agent #84944, 2026-08);
    // it refuses `reasoning_content` (litellm #30835, 2026-06). Takes responses, keeps none of them and refuses
    // `store: true` (docs.mistral.ai/api/endpoint/responses, seen 2026-11). Takes 256 inputs at once (rig-core 0.42,
    // mistral/embedding.rs, seen 2026-11) and has its own name for the size of a vector
    // (docs.mistral.ai/api/endpoint/embeddings, seen 2026-11). Knows neither a prompt nor a format of a transcript
    // (@ai-sdk/mistral 4.0.17, seen 2026-11). Its speech comes inside of JSON, which is another language
    // (docs.mistral.ai/studio/audio/text-to-speech, seen 2026-11).
    id: 'mistral',
    origin: 'https://api.mistral.ai',
    regions: { EU: 'https://api.eu.mistral.ai', US: 'https://api.us.mistral.ai' },
    environment: ['MISTRAL_API_KEY'],
    services: [
      chat(CHAT_PATH, {
        usage: 'always',
        maxTokensName: 'max_tokens',
        rename: { seed: 'random_seed' },
        drop: ['store', 'user'],
        callIds: 'nine',
        strictOrder: true,
      }),
      responses(RESPONSES_PATH),
      embeddings(EMBEDDINGS_PATH, {
        inputsMax: 256,
        rename: { dimensions: 'output_dimension' },
        drop: ['user'],
      }),
      transcriptions(TRANSCRIPTIONS_PATH, { formats: ['json'] }),
    ],
  },
  {
    // Refuses `reasoning_content` (janhq/jan #8136, 2026-05), and `reasoning` for most models (vercel/ai #8057, 2025-08).
    // Takes responses, too (console.groq.com/docs/openai, seen 2026-11). Writes no subtitles
    // (tanstack.com/ai on transcription, seen 2026-11). Speaks wav alone (openclaw #62233, 2026-04; hermes-studio #2328,
    // 2026-08), and with voices of its own (docs.jambonz.org on Groq, seen 2026-11).
    id: 'groq',
    origin: 'https://api.groq.com',
    environment: ['GROQ_API_KEY'],
    services: [
      chat('/openai/v1/chat/completions', { usage: 'ask' }),
      responses('/openai/v1/responses'),
      transcriptions('/openai/v1/audio/transcriptions', {
        formats: ['json', 'text', 'verbose_json'],
      }),
      speech('/openai/v1/audio/speech', { default: { response_format: 'wav', voice: 'autumn' } }),
    ],
  },
  {
    // Ignores the new name of the limit without a word, and answers at any length (pi #8018, 2026-08). Demands what
    // was thought before a call (pi #3636, 2026-04). Takes messages by the same credential
    // (api-docs.deepseek.com/api/create-message, seen 2026-11).
    id: 'deepseek',
    origin: 'https://api.deepseek.com',
    environment: ['DEEPSEEK_API_KEY'],
    services: [
      chat('/chat/completions', {
        usage: 'ask',
        maxTokensName: 'max_tokens',
        thoughts: 'reasoning_content',
      }),
      messages('/anthropic/v1/messages'),
    ],
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #17986, 2026-07). Takes responses for some of its
    // models and does not say for which (docs.together.ai/docs/inference/responses, seen 2026-11), so they are converted.
    // Ranks as most do (docs.together.ai/docs/together-and-llamarank, seen 2026-11), and speaks mp3 or wav
    // (docs.together.ai/reference/audio-speech, seen 2026-11).
    id: 'together',
    origin: 'https://api.together.xyz',
    environment: ['TOGETHER_API_KEY'],
    services: [
      chat(CHAT_PATH, { usage: 'ask' }),
      embeddings(EMBEDDINGS_PATH),
      reranking(RERANK_PATH),
      speech(SPEECH_PATH),
    ],
  },
  {
    // Its regions are for business plans (openrouter.ai/docs/guides/features/in-region-routing, seen 2026-11).
    // Takes messages for all models (openrouter.ai/docs/client-sdks, MessagesRequest, seen 2026-11), and responses,
    // of which it keeps none: it refuses `store: true` (openrouter.ai/docs/api_reference/responses, seen 2026-11).
    // Wants back what it calls `reasoning`, and its details beside it (Roo-Code #9506, 2025-11). Takes embeddings,
    // rankings and speech (openrouter.ai/docs/api/api-reference, seen 2026-11), and transcriptions as forms
    // (assemblyai.com/docs/sync-stt/openrouter, seen 2026-11), of which it writes JSON alone
    // (openrouter.ai/docs/client-sdks, STTRequestResponseFormat, seen 2026-11).
    id: 'openrouter',
    origin: 'https://openrouter.ai',
    regions: { EU: 'https://eu.openrouter.ai', US: 'https://us.openrouter.ai' },
    environment: ['OPENROUTER_API_KEY'],
    services: [
      chat('/api/v1/chat/completions', { usage: 'always', thoughts: 'reasoning' }),
      messages('/api/v1/messages'),
      responses('/api/v1/responses'),
      embeddings('/api/v1/embeddings'),
      reranking('/api/v1/rerank'),
      transcriptions('/api/v1/audio/transcriptions', { formats: ['json', 'verbose_json'] }),
      speech('/api/v1/audio/speech'),
    ],
  },
  {
    // Refuses fields that it does not know; SDKs send `store: false` on their own (openhanako #394, 2026-04). Takes 100
    // inputs at once (StarTrail-org/LEANN #214, 2026-01). Nothing says that it has vectors in base64, so it is asked
    // for what it gives unasked.
    id: 'gemini',
    origin: 'https://generativelanguage.googleapis.com',
    environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    services: [
      chat('/v1beta/openai/chat/completions', { usage: 'always', drop: ['store'] }),
      embeddings('/v1beta/openai/embeddings', {
        inputsMax: 100,
        drop: ['encoding_format', 'user'],
      }),
    ],
  },
  {
    // One region, and not for every model (docs.x.ai/developers/advanced-api-usage/regions, seen 2026-11). Its
    // layer for messages is given up (docs.x.ai/developers/rest-api-reference/inference/legacy, seen 2026-11). It
    // prefers responses (docs.x.ai/developers/model-capabilities/text/generate-text, seen 2026-11).
    id: 'xai',
    origin: 'https://api.x.ai',
    regions: { US: 'https://us.api.x.ai' },
    environment: ['XAI_API_KEY'],
    services: [chat(CHAT_PATH, { usage: 'ask' }), responses(RESPONSES_PATH)],
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #16087, 2026-06). Takes messages, too
    // (docs.fireworks.ai/tools-sdks/anthropic-compatibility, seen 2026-11), and responses
    // (docs.fireworks.ai/api-reference/post-responses, seen 2026-11). Wants thoughts back, for every model
    // (docs.fireworks.ai/guides/reasoning, seen 2026-11). Takes embeddings
    // (docs.fireworks.ai/guides/querying-embeddings-models, seen 2026-11).
    id: 'fireworks',
    origin: 'https://api.fireworks.ai',
    environment: ['FIREWORKS_API_KEY'],
    services: [
      chat('/inference/v1/chat/completions', { usage: 'ask', thoughts: 'reasoning_content' }),
      messages('/inference/v1/messages'),
      responses('/inference/v1/responses'),
      embeddings('/inference/v1/embeddings'),
    ],
  },
  {
    // Takes thoughts back by the name that it gives them, and refuses the other one (qwen-code #11045, 2026-09).
    id: 'cerebras',
    origin: 'https://api.cerebras.ai',
    environment: ['CEREBRAS_API_KEY'],
    services: [chat(CHAT_PATH, { usage: 'ask', thoughts: 'reasoning' })],
  },
  {
    // Takes embeddings, too (docs.agno.com/reference/knowledge/embedder/nebius, seen 2026-11).
    id: 'nebius',
    origin: 'https://api.tokenfactory.nebius.com',
    environment: ['NEBIUS_API_KEY'],
    services: [chat(CHAT_PATH, { usage: 'ask' }), embeddings(EMBEDDINGS_PATH)],
  },
  {
    // Refuses `stream_options` (strandsagents.com on its compatibility interface, seen 2026-11). Takes 96 inputs at once
    // (docs.cohere.com/reference/embed, seen 2026-11), knows no `user`, and shows vectors by the word float alone
    // (docs.cohere.com/docs/compatibility-api, seen 2026-11). `dimensions` is said not to be supported, and is passed on
    // all the same: a vector of another length than was asked for must not come without a word.
    id: 'cohere',
    origin: 'https://api.cohere.ai',
    environment: ['COHERE_API_KEY', 'CO_API_KEY'],
    services: [
      chat('/compatibility/v1/chat/completions', { usage: 'always', maxTokensName: 'max_tokens' }),
      embeddings('/compatibility/v1/embeddings', {
        inputsMax: 96,
        drop: ['encoding_format', 'user'],
        default: { encoding_format: 'float' },
      }),
      reranking('/v2/rerank', { rerankShape: 'cohere' }),
    ],
  },
  {
    // Has no chats. Has no name for the plain form of a vector, only one for base64, and calls its size otherwise
    // (mintlify.com/patelvivekdev/voyageai-ai-provider, seen 2026-11). Takes 1000 inputs at once
    // (mongodb.com/docs/api/doc/atlas-embedding-and-reranking-api, seen 2026-11). Ranks by `top_k`
    // (voyage-ai/typescript-sdk, RerankRequest, seen 2026-11).
    id: 'voyage',
    origin: 'https://api.voyageai.com',
    environment: ['VOYAGE_API_KEY'],
    services: [
      embeddings(EMBEDDINGS_PATH, {
        inputsMax: 1000,
        rename: { dimensions: 'output_dimension' },
        drop: ['encoding_format', 'user'],
      }),
      reranking(RERANK_PATH, { rerankShape: 'voyage' }),
    ],
  },
  {
    // Has no chats. Refuses fields that it does not know, `encoding_format` among them (new-api #1941, 2025-09), and
    // takes 512 inputs at once (dify-official-plugins #1997, 2025-11).
    id: 'jina',
    origin: 'https://api.jina.ai',
    environment: ['JINA_API_KEY'],
    services: [
      embeddings(EMBEDDINGS_PATH, { inputsMax: 512, drop: ['encoding_format', 'user'] }),
      reranking(RERANK_PATH, { rerankShape: 'jina' }),
    ],
  },
  {
    // Knows the old name of the limit alone (docs.ollama.com/api/openai-compatibility, seen 2026-11). Takes
    // messages and counts none (docs.ollama.com/api/anthropic-compatibility, seen 2026-11), and responses, of which
    // it keeps none, and embeddings (docs.ollama.com/api/openai-compatibility, seen 2026-11).
    id: 'ollama',
    origin: 'http://127.0.0.1:11434',
    environment: ['OLLAMA_HOST'],
    services: [
      chat(CHAT_PATH, { usage: 'ask', maxTokensName: 'max_tokens' }),
      messages('/v1/messages'),
      responses(RESPONSES_PATH),
      embeddings(EMBEDDINGS_PATH),
    ],
    isLocal: true,
  },
  {
    // vLLM, TGI, LM Studio, llama.cpp and whoever else speaks the language. Some of them want thoughts back and
    // others refuse them: the operator says so. Who serves what besides chats is for the operator to say, too.
    id: 'openai-compatible',
    environment: [],
    services: [
      chat(CHAT_PATH, { usage: 'ask' }),
      embeddings(EMBEDDINGS_PATH),
      reranking(RERANK_PATH),
      transcriptions(TRANSCRIPTIONS_PATH),
      speech(SPEECH_PATH),
    ],
    isGeneric: true,
    servesOwn: true,
  },
  {
    // Whoever else speaks the language of messages. Who does not count answers 404, and then the gateway does.
    id: 'anthropic-compatible',
    environment: [],
    services: [MESSAGES],
    isGeneric: true,
    servesOwn: true,
  },
]
