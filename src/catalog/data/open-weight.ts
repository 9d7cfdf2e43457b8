// Chat models that several suppliers run, each at a price of its own. The row's price is that of the
// supplier that its source names.
import type { Capability, ModelRow, Provenance } from '../model.ts'

const FIREWORKS_PRICING = 'https://docs.fireworks.ai/serverless/pricing'
const TOGETHER_MODELS = 'https://docs.together.ai/docs/serverless/models'
const GROQ_MODELS = 'https://console.groq.com/docs/models'

const TOGETHER: Provenance = { source: 'https://www.together.ai/pricing', date: '2026-10-03' }
const MISTRAL: Provenance = {
  source: 'https://docs.mistral.ai/inference/model-selection-guide',
  date: '2026-10-20',
}
const DEEPSEEK: Provenance = {
  source: 'https://api-docs.deepseek.com/quick_start/pricing',
  date: '2026-10-27',
}

const TEXT: readonly Capability[] = ['tools', 'json', 'reasoning']
const SEEING: readonly Capability[] = ['tools', 'images', 'json', 'reasoning']

export const openWeightModels: readonly ModelRow[] = [
  // The maker bills half of these rates off-peak. A price has no hour here, so the peak rate
  // stands: a budget then stops early rather than late.
  {
    id: 'deepseek-v4-pro',
    ownedBy: 'deepseek',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 384_000,
    capabilities: TEXT,
    price: { input: '1.32', cachedInput: '0.044', output: '3.96' },
    priced: DEEPSEEK,
    suppliers: {
      deepseek: 'deepseek-v4-pro',
      fireworks: {
        as: 'accounts/fireworks/models/deepseek-v4-pro-0813',
        price: { input: '1.32', cachedInput: '0.044', output: '3.96' },
        priced: { source: FIREWORKS_PRICING, date: '2026-09-26' },
      },
      together: {
        as: 'deepseek-ai/DeepSeek-V4-Pro-0813',
        price: { input: '1.32', cachedInput: '0.13', output: '3.96' },
        priced: TOGETHER,
      },
    },
  },
  {
    id: 'deepseek-flash',
    ownedBy: 'deepseek',
    kind: 'chat',
    contextWindow: 1_000_000,
    outputCeiling: 393_216,
    capabilities: SEEING,
    price: { input: '0.30', cachedInput: '0.006', output: '1.20' },
    priced: DEEPSEEK,
    suppliers: {
      deepseek: 'deepseek-flash',
      together: {
        as: 'deepseek-ai/DeepSeek-V4.1-Flash',
        price: { input: '0.30', cachedInput: '0.006', output: '1.20' },
        priced: { source: TOGETHER_MODELS, date: '2026-09-23' },
      },
      mistral: {
        as: 'deepseek-v4-1-flash-1017',
        price: { input: '0.30', cachedInput: '0.007', output: '1.20' },
        priced: MISTRAL,
      },
    },
  },
  {
    id: 'gpt-oss-120b',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 131_072,
    outputCeiling: 65_536,
    tokenizer: 'o200k',
    capabilities: TEXT,
    price: { input: '0.15', cachedInput: '0.075', output: '0.60' },
    priced: { source: GROQ_MODELS, date: '2026-05-27' },
    suppliers: {
      groq: 'openai/gpt-oss-120b',
      together: {
        as: 'openai/gpt-oss-120b',
        price: { input: '0.15', output: '0.60' },
        priced: TOGETHER,
      },
      cerebras: {
        as: 'gpt-oss-120b',
        price: { input: '0.35', output: '0.75' },
        priced: { source: 'https://www.cerebras.ai/pricing', date: '2026-06-12' },
      },
    },
  },
  {
    id: 'gpt-oss-20b',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 131_072,
    outputCeiling: 65_536,
    tokenizer: 'o200k',
    capabilities: TEXT,
    price: { input: '0.075', cachedInput: '0.0375', output: '0.30' },
    priced: { source: GROQ_MODELS, date: '2026-05-27' },
    suppliers: { groq: 'openai/gpt-oss-20b' },
  },
  {
    id: 'qwen3.8-27b',
    ownedBy: 'alibaba',
    kind: 'chat',
    contextWindow: 262_144,
    outputCeiling: 32_768,
    capabilities: SEEING,
    price: { input: '0.80', cachedInput: '0.40', output: '4.00' },
    priced: { source: 'https://groq.com/pricing', date: '2026-08-29' },
    suppliers: {
      groq: 'qwen/qwen3.8-27b',
      cerebras: {
        as: 'qwen-3.8-27b',
        price: { input: '0.99', output: '1.49' },
        priced: {
          source: 'https://api.cerebras.ai/public/v1/models/qwen-3.8-27b',
          date: '2026-09-03',
        },
      },
    },
  },
  {
    id: 'kimi-k3',
    ownedBy: 'moonshotai',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 262_144,
    capabilities: SEEING,
    price: { input: '3.00', cachedInput: '0.30', output: '15.00' },
    priced: TOGETHER,
    suppliers: {
      together: 'moonshotai/Kimi-K3',
      nebius: {
        as: 'moonshotai/Kimi-K3',
        price: { input: '3.00', output: '15.00' },
        priced: {
          source: 'https://tokenfactory.nebius.com/api/public/models_info',
          date: '2026-07-27',
        },
      },
    },
  },
  {
    id: 'glm-5.3',
    ownedBy: 'z-ai',
    kind: 'chat',
    contextWindow: 1_048_575,
    outputCeiling: 262_144,
    capabilities: TEXT,
    price: { input: '1.40', cachedInput: '0.26', output: '4.40' },
    priced: TOGETHER,
    suppliers: {
      together: 'zai-org/GLM-5.3',
      fireworks: {
        as: 'accounts/fireworks/models/glm-5p3',
        price: { input: '1.40', cachedInput: '0.26', output: '4.40' },
        priced: { source: FIREWORKS_PRICING, date: '2026-08-29' },
      },
      mistral: {
        as: 'zai-glm-5-3',
        price: { input: '1.40', cachedInput: '0.14', output: '4.40' },
        priced: MISTRAL,
      },
    },
  },
  {
    id: 'glm-5.3-flash',
    ownedBy: 'z-ai',
    kind: 'chat',
    contextWindow: 1_048_573,
    outputCeiling: 131_072,
    capabilities: SEEING,
    price: { input: '0.15', cachedInput: '0.03', output: '0.50' },
    priced: {
      source: 'https://fireworks.ai/models/fireworks/glm-5p3-flash',
      date: '2026-09-02',
    },
    suppliers: {
      fireworks: 'accounts/fireworks/models/glm-5p3-flash',
      mistral: {
        as: 'zai-glm-5-3-flash',
        price: { input: '0.15', cachedInput: '0.03', output: '0.50' },
        priced: MISTRAL,
      },
    },
  },
]
