// Chat models of this maker and their prices, as published. Its larger models have no public price for a
// token and stay out until they have one.
import type { Capability, ModelRow, Provenance } from '../model.ts'

const PRICING: Provenance = { source: 'https://cohere.com/pricing', date: '2026-10-03' }

const ALL: readonly Capability[] = ['tools', 'json']

export const cohereModels: readonly ModelRow[] = [
  {
    id: 'command-r-08-2024',
    ownedBy: 'cohere',
    kind: 'chat',
    contextWindow: 128_000,
    outputCeiling: 4_000,
    capabilities: ALL,
    price: { input: '0.15', output: '0.60' },
    priced: PRICING,
    suppliers: { cohere: 'command-r-08-2024' },
  },
  {
    id: 'command-r7b-12-2024',
    ownedBy: 'cohere',
    kind: 'chat',
    contextWindow: 128_000,
    outputCeiling: 4_000,
    capabilities: ALL,
    price: { input: '0.0375', output: '0.15' },
    priced: PRICING,
    suppliers: { cohere: 'command-r7b-12-2024' },
  },
]
