// Chat models of this maker and their prices, as published. A row is a dated reading of a page: whoever
// changes a figure changes the date with it, and a figure that no page shows stays out. So does a vocabulary:
// that of the models up to gpt-5.6 is public (github.com/openai/tiktoken), that of gpt-6 is not.
import type { Capability, LongContext, ModelRow, Provenance, RouteRow } from '../model.ts'
import { azure, regional } from '../regional.ts'

const PRICING: Provenance = {
  source: 'https://developers.openai.com/api/docs/pricing',
  date: '2026-10-03',
}

const PLAIN: readonly Capability[] = ['tools', 'images', 'json']
const REASONING: readonly Capability[] = ['tools', 'images', 'json', 'reasoning']

// A model that reasons takes no temperature, top_p or penalty but the default (seen for gpt-5 in langchaingo #1355,
// 2025-08, for 5.6 in khoj #1377, for 6 in tee-gateway #154 and promptfoo #11039, 2026-09). Those from 5.1 to 5.4 do
// not reason unless they are told to, and take them then.

// On the chat-completions interface the models from gpt-5.2 on do not reason beside tools: there they want the native
// one. Those up to 5.4 do not reason by default, and refuse to be told to (livekit/agents #5088, openai-openapi #541,
// 2026-05); the others have to be told not to (webmcp-tools #417, joplin #16451, llm-memory-api #178 for 5.5, onyx
// #15008 for 6-sol, 2026-09). Astra and 6.1-sol know no such word, so that they take no tools there (genkit #6303,
// 2026-09; docs.laozhang.ai on function calling, 2026-10); 6.1-terra knows it (apidog.com/blog/gpt-6-1-terra-api, 2026-10).

/** It asks its makers in their own language, and these take both. */
function router(as: string): RouteRow {
  return { as, besideTools: 'free' }
}

// What one image counts for at most, by https://developers.openai.com/api/docs/guides/images-vision (seen
// 2026-10). Where its figures have changed the higher ones stand; gpt-6 and 6.1 but for astra are not on it.

/** Scaled to 2048 by 768 pixels, an image has eight tiles at most. */
function tiles(base: number, tile: number): number {
  return base + 8 * tile
}

function patches(most: number, multiplier: number): number {
  return Math.ceil(most * multiplier)
}

/** The rates beyond the one length from which all of these models cost more. */
function long(rates: Omit<LongContext, 'above'>): LongContext {
  return { above: 272_000, ...rates }
}

export const openaiModels: readonly ModelRow[] = [
  {
    id: 'gpt-6.1-sol',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'refused',
    price: {
      input: '2.00',
      cachedInput: '0.10',
      cacheWrite: '2.50',
      output: '10.00',
      longContext: long({
        input: '4.00',
        cachedInput: '0.20',
        cacheWrite: '5.00',
        output: '15.00',
      }),
    },
    priced: PRICING,
    suppliers: { openai: regional('gpt-6.1-sol'), openrouter: router('openai/gpt-6.1-sol') },
  },
  {
    id: 'gpt-6.1-terra',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '1.00',
      cachedInput: '0.05',
      cacheWrite: '1.25',
      output: '5.00',
      longContext: long({ input: '2.00', cachedInput: '0.10', cacheWrite: '2.50', output: '7.50' }),
    },
    priced: {
      source: 'https://developers.openai.com/api/docs/models/gpt-6.1-terra',
      date: '2026-10-26',
    },
    suppliers: { openai: regional('gpt-6.1-terra'), openrouter: router('openai/gpt-6.1-terra') },
  },
  {
    id: 'gpt-6-astra',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    imageTokens: patches(30_000, 1.2),
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'refused',
    price: {
      input: '10.00',
      cachedInput: '1.00',
      cacheWrite: '12.50',
      output: '50.00',
      longContext: long({
        input: '20.00',
        cachedInput: '2.00',
        cacheWrite: '25.00',
        output: '75.00',
      }),
    },
    priced: PRICING,
    // Sources give 10 and 20 percent for a zone of Azure; the higher one stands.
    suppliers: {
      openai: regional('gpt-6-astra'),
      azure: azure('gpt-6-astra', 20),
      openrouter: router('openai/gpt-6-astra'),
    },
  },
  {
    id: 'gpt-6-sol',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '2.00',
      cachedInput: '0.20',
      cacheWrite: '2.50',
      output: '10.00',
      longContext: long({
        input: '4.00',
        cachedInput: '0.40',
        cacheWrite: '5.00',
        output: '15.00',
      }),
    },
    priced: PRICING,
    suppliers: { openai: regional('gpt-6-sol'), openrouter: router('openai/gpt-6-sol') },
  },
  {
    id: 'gpt-6-luna',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '0.10',
      cachedInput: '0.01',
      cacheWrite: '0.125',
      output: '0.50',
      longContext: long({ input: '0.20', cachedInput: '0.02', cacheWrite: '0.25', output: '0.75' }),
    },
    priced: PRICING,
    suppliers: { openai: regional('gpt-6-luna'), openrouter: router('openai/gpt-6-luna') },
  },
  {
    id: 'gpt-5.6-terra',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    imageTokens: patches(30_000, 1.2),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '2.00',
      cachedInput: '0.20',
      cacheWrite: '2.50',
      output: '12.00',
      longContext: long({
        input: '4.00',
        cachedInput: '0.40',
        cacheWrite: '5.00',
        output: '18.00',
      }),
    },
    priced: PRICING,
    suppliers: { openai: regional('gpt-5.6-terra'), azure: azure('gpt-5.6-terra') },
  },
  {
    id: 'gpt-5.6-luna',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    imageTokens: patches(30_000, 1.2),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '0.20',
      cachedInput: '0.02',
      cacheWrite: '0.25',
      output: '1.20',
      longContext: long({ input: '0.40', cachedInput: '0.04', cacheWrite: '0.50', output: '1.80' }),
    },
    priced: PRICING,
    suppliers: { openai: regional('gpt-5.6-luna'), azure: azure('gpt-5.6-luna') },
  },
  {
    id: 'gpt-5.5',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    imageTokens: patches(10_000, 1.2),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    besideTools: 'off',
    price: {
      input: '5.00',
      cachedInput: '0.50',
      output: '30.00',
      longContext: long({ input: '10.00', cachedInput: '1.00', output: '45.00' }),
    },
    priced: PRICING,
    suppliers: {
      openai: regional('gpt-5.5'),
      azure: azure('gpt-5.5'),
      openrouter: router('openai/gpt-5.5'),
    },
  },
  {
    id: 'gpt-5.4',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_050_000,
    outputCeiling: 128_000,
    imageTokens: patches(10_000, 1.2),
    tokenizer: 'o200k',
    capabilities: REASONING,
    besideTools: 'unsaid',
    price: {
      input: '2.50',
      cachedInput: '0.25',
      output: '15.00',
      longContext: long({ input: '5.00', cachedInput: '0.50', output: '22.50' }),
    },
    priced: PRICING,
    suppliers: {
      openai: regional('gpt-5.4'),
      azure: azure('gpt-5.4'),
      openrouter: router('openai/gpt-5.4'),
    },
  },
  {
    id: 'gpt-5.4-mini',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: patches(10_000, 1.62),
    tokenizer: 'o200k',
    capabilities: REASONING,
    besideTools: 'unsaid',
    price: { input: '0.75', cachedInput: '0.075', output: '4.50' },
    priced: PRICING,
    suppliers: {
      openai: regional('gpt-5.4-mini'),
      azure: azure('gpt-5.4-mini'),
      openrouter: router('openai/gpt-5.4-mini'),
    },
  },
  {
    id: 'gpt-5.4-nano',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: patches(10_000, 2.46),
    tokenizer: 'o200k',
    capabilities: REASONING,
    besideTools: 'unsaid',
    price: { input: '0.20', cachedInput: '0.02', output: '1.25' },
    priced: PRICING,
    suppliers: {
      openai: regional('gpt-5.4-nano'),
      azure: azure('gpt-5.4-nano'),
      openrouter: router('openai/gpt-5.4-nano'),
    },
  },
  {
    id: 'gpt-5.2',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: patches(1536, 1.2),
    tokenizer: 'o200k',
    capabilities: REASONING,
    besideTools: 'unsaid',
    price: { input: '1.75', cachedInput: '0.175', output: '14.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-5.2', azure: azure('gpt-5.2') },
  },
  {
    id: 'gpt-5.1',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: tiles(70, 140),
    tokenizer: 'o200k',
    capabilities: REASONING,
    price: { input: '1.25', cachedInput: '0.125', output: '10.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-5.1', azure: azure('gpt-5.1') },
  },
  // Announced to be switched off by the maker: the next four on 2026-12-11, the 4-series on 2027-01-14
  // (https://developers.openai.com/api/docs/deprecations, seen 2026-10-28).
  {
    id: 'gpt-5',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: tiles(70, 140),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    price: { input: '1.25', cachedInput: '0.125', output: '10.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-5', azure: azure('gpt-5') },
  },
  {
    id: 'gpt-5-mini',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: patches(1536, 1.62),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    price: { input: '0.25', cachedInput: '0.025', output: '2.00' },
    priced: PRICING,
    suppliers: {
      openai: 'gpt-5-mini',
      azure: azure('gpt-5-mini'),
      openrouter: 'openai/gpt-5-mini',
    },
  },
  {
    id: 'gpt-5-nano',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 400_000,
    outputCeiling: 128_000,
    imageTokens: patches(1536, 2.46),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    price: { input: '0.05', cachedInput: '0.005', output: '0.40' },
    priced: PRICING,
    suppliers: { openai: 'gpt-5-nano', azure: azure('gpt-5-nano') },
  },
  {
    id: 'o3',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 200_000,
    outputCeiling: 100_000,
    imageTokens: tiles(75, 150),
    tokenizer: 'o200k',
    capabilities: REASONING,
    sampling: 'fixed',
    price: { input: '2.00', cachedInput: '0.50', output: '8.00' },
    priced: PRICING,
    suppliers: { openai: 'o3', azure: azure('o3') },
  },
  {
    id: 'gpt-4.1',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_047_576,
    outputCeiling: 32_768,
    imageTokens: tiles(85, 170),
    tokenizer: 'o200k',
    capabilities: PLAIN,
    price: { input: '2.00', cachedInput: '0.50', output: '8.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4.1', azure: azure('gpt-4.1') },
  },
  {
    id: 'gpt-4.1-mini',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 1_047_576,
    outputCeiling: 32_768,
    imageTokens: patches(1536, 1.62),
    tokenizer: 'o200k',
    capabilities: PLAIN,
    price: { input: '0.40', cachedInput: '0.10', output: '1.60' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4.1-mini', azure: azure('gpt-4.1-mini') },
  },
  {
    id: 'gpt-4o',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 128_000,
    outputCeiling: 16_384,
    imageTokens: tiles(85, 170),
    tokenizer: 'o200k',
    capabilities: PLAIN,
    price: { input: '2.50', cachedInput: '1.25', output: '10.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4o', azure: azure('gpt-4o') },
  },
  {
    id: 'gpt-4o-mini',
    ownedBy: 'openai',
    kind: 'chat',
    contextWindow: 128_000,
    outputCeiling: 16_384,
    imageTokens: tiles(2833, 5667),
    tokenizer: 'o200k',
    capabilities: PLAIN,
    price: { input: '0.15', cachedInput: '0.075', output: '0.60' },
    priced: PRICING,
    suppliers: {
      openai: 'gpt-4o-mini',
      azure: azure('gpt-4o-mini'),
      openrouter: 'openai/gpt-4o-mini',
    },
  },
]
