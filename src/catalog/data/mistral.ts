// Chat models of this maker and their prices, as published. A row is a dated reading of a page: whoever
// changes a figure changes the date with it, and a figure that no page shows stays out.
import type { Capability, ModelRow, Provenance } from '../model.ts'
import { zoned } from '../regional.ts'

const PRICING: Provenance = { source: 'https://mistral.ai/pricing/api', date: '2026-10-03' }

const SEEING: readonly Capability[] = ['tools', 'images', 'json']
const THINKING: readonly Capability[] = ['tools', 'images', 'json', 'reasoning']

export const mistralModels: readonly ModelRow[] = [
  {
    id: 'mistral-medium-3-5',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 262_144,
    outputCeiling: 262_144,
    capabilities: THINKING,
    price: { input: '1.50', cachedInput: '0.15', output: '7.50' },
    priced: PRICING,
    suppliers: { mistral: zoned('mistral-medium-3-5'), openrouter: 'mistralai/mistral-medium-3-5' },
  },
  {
    id: 'mistral-large-2512',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 262_144,
    outputCeiling: 262_144,
    capabilities: SEEING,
    price: { input: '0.50', cachedInput: '0.05', output: '1.50' },
    priced: PRICING,
    suppliers: { mistral: zoned('mistral-large-2512') },
  },
  {
    id: 'mistral-small-2603',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 256_000,
    outputCeiling: 256_000,
    capabilities: THINKING,
    price: { input: '0.15', cachedInput: '0.015', output: '0.60' },
    priced: PRICING,
    suppliers: { mistral: zoned('mistral-small-2603') },
  },
  {
    id: 'ministral-14b-2512',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 256_000,
    outputCeiling: 256_000,
    capabilities: SEEING,
    price: { input: '0.20', cachedInput: '0.02', output: '0.20' },
    priced: PRICING,
    suppliers: { mistral: zoned('ministral-14b-2512') },
  },
  {
    id: 'ministral-8b-2512',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 256_000,
    outputCeiling: 256_000,
    capabilities: SEEING,
    price: { input: '0.15', cachedInput: '0.015', output: '0.15' },
    priced: PRICING,
    suppliers: { mistral: zoned('ministral-8b-2512') },
  },
  {
    id: 'ministral-3b-2512',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 256_000,
    outputCeiling: 256_000,
    capabilities: SEEING,
    price: { input: '0.10', cachedInput: '0.01', output: '0.10' },
    priced: PRICING,
    suppliers: { mistral: zoned('ministral-3b-2512') },
  },
  {
    id: 'codestral-2508',
    ownedBy: 'mistralai',
    kind: 'chat',
    contextWindow: 128_000,
    outputCeiling: 128_000,
    capabilities: ['tools', 'json'],
    price: { input: '0.30', cachedInput: '0.03', output: '0.90' },
    priced: PRICING,
    suppliers: { mistral: zoned('codestral-2508') },
  },
]
