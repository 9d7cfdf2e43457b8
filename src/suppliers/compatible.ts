// Suppliers that speak the chat-completions language and differ by address, path and habits alone. A new
// one is a row here, not a file. Habits are as seen in public documentation and code up to 2026-11.
import type { Kind } from './kind.ts'

const CHAT_PATH = '/v1/chat/completions'

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
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['OPENAI_API_KEY'],
    // Reasoning models refuse the old name of the limit, all others know the new one.
    quirks: { usage: 'ask', maxTokensName: 'max_completion_tokens' },
  },
  {
    // Its layer for this language; some fields are ignored there, `response_format` among them
    // (platform.claude.com/docs/en/api/openai-sdk, seen 2026-11).
    id: 'anthropic',
    origin: 'https://api.anthropic.com',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['ANTHROPIC_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    // Refuses fields that it does not know: answers 422 to `stream_options` (avante.nvim #2347, 2025-06),
    // to `store` and to the new name of the limit (openclaude #739, 2026-04), and tells usage unasked. The
    // plain origin promises no place any more (docs.mistral.ai/studio/regional-inference, seen 2026-11).
    id: 'mistral',
    origin: 'https://api.mistral.ai',
    regions: { EU: 'https://api.eu.mistral.ai', US: 'https://api.us.mistral.ai' },
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['MISTRAL_API_KEY'],
    quirks: {
      usage: 'always',
      maxTokensName: 'max_tokens',
      rename: { seed: 'random_seed' },
      drop: ['store', 'user'],
    },
  },
  {
    id: 'groq',
    origin: 'https://api.groq.com',
    path: '/openai/v1/chat/completions',
    signature: 'bearer',
    environment: ['GROQ_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    // Ignores the new name of the limit without a word, and answers at any length (pi #8018, 2026-08).
    id: 'deepseek',
    origin: 'https://api.deepseek.com',
    path: '/chat/completions',
    signature: 'bearer',
    environment: ['DEEPSEEK_API_KEY'],
    quirks: { usage: 'ask', maxTokensName: 'max_tokens' },
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #17986, 2026-07).
    id: 'together',
    origin: 'https://api.together.xyz',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['TOGETHER_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    // Its regions are for business plans (openrouter.ai/docs/guides/features/in-region-routing, seen 2026-11).
    id: 'openrouter',
    origin: 'https://openrouter.ai',
    regions: { EU: 'https://eu.openrouter.ai', US: 'https://us.openrouter.ai' },
    path: '/api/v1/chat/completions',
    signature: 'bearer',
    environment: ['OPENROUTER_API_KEY'],
    quirks: { usage: 'always' },
  },
  {
    // Refuses fields that it does not know; SDKs send `store: false` on their own (openhanako #394, 2026-04).
    id: 'gemini',
    origin: 'https://generativelanguage.googleapis.com',
    path: '/v1beta/openai/chat/completions',
    signature: 'bearer',
    environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    quirks: { usage: 'always', drop: ['store'] },
  },
  {
    // One region, and not for every model (docs.x.ai/developers/advanced-api-usage/regions, seen 2026-11).
    id: 'xai',
    origin: 'https://api.x.ai',
    regions: { US: 'https://us.api.x.ai' },
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['XAI_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #16087, 2026-06).
    id: 'fireworks',
    origin: 'https://api.fireworks.ai',
    path: '/inference/v1/chat/completions',
    signature: 'bearer',
    environment: ['FIREWORKS_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    id: 'cerebras',
    origin: 'https://api.cerebras.ai',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['CEREBRAS_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    id: 'nebius',
    origin: 'https://api.tokenfactory.nebius.com',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['NEBIUS_API_KEY'],
    quirks: { usage: 'ask' },
  },
  {
    // Refuses `stream_options` (strandsagents.com on its compatibility interface, seen 2026-11).
    id: 'cohere',
    origin: 'https://api.cohere.ai',
    path: '/compatibility/v1/chat/completions',
    signature: 'bearer',
    environment: ['COHERE_API_KEY', 'CO_API_KEY'],
    quirks: { usage: 'always', maxTokensName: 'max_tokens' },
  },
  {
    // Knows the old name of the limit alone (docs.ollama.com/api/openai-compatibility, seen 2026-11).
    id: 'ollama',
    origin: 'http://127.0.0.1:11434',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: ['OLLAMA_HOST'],
    quirks: { usage: 'ask', maxTokensName: 'max_tokens' },
    isLocal: true,
  },
  {
    // vLLM, TGI, LM Studio, llama.cpp and whoever else speaks the language.
    id: 'openai-compatible',
    path: CHAT_PATH,
    signature: 'bearer',
    environment: [],
    quirks: { usage: 'ask' },
    isGeneric: true,
    servesOwn: true,
  },
]
