// Chat models of this maker and their prices, as published. A row is a dated reading of a page: whoever
// changes a figure changes the date with it, and a figure that no page shows stays out.
import type { Capability, ModelRow } from '../model.ts'

const PRICING = 'https://docs.x.ai/developers/pricing'

const ALL: readonly Capability[] = ['tools', 'images', 'json', 'reasoning']

export const xaiModels: readonly ModelRow[] = [
  {
    id: 'grok-4.7',
    ownedBy: 'xai',
    kind: 'chat',
    contextWindow: 500_000,
    outputCeiling: 500_000,
    capabilities: ALL,
    price: {
      input: '2.00',
      cachedInput: '0.50',
      output: '6.00',
      longContext: { above: 200_000, input: '4.00', cachedInput: '1.00', output: '12.00' },
    },
    priced: { source: PRICING, date: '2026-09-29' },
    suppliers: { xai: 'grok-4.7' },
  },
  {
    id: 'grok-4.6',
    ownedBy: 'xai',
    kind: 'chat',
    contextWindow: 500_000,
    outputCeiling: 500_000,
    capabilities: ALL,
    price: {
      input: '2.00',
      cachedInput: '0.50',
      output: '6.00',
      longContext: { above: 200_000, input: '4.00', cachedInput: '1.00', output: '12.00' },
    },
    priced: { source: PRICING, date: '2026-09-29' },
    // The endpoint in the US (https://docs.x.ai/developers/advanced-api-usage/regions) serves this one.
    suppliers: { xai: { as: 'grok-4.6', uplift: { US: 10 } } },
  },
  {
    id: 'grok-4.3',
    ownedBy: 'xai',
    kind: 'chat',
    contextWindow: 1_000_000,
    outputCeiling: 30_000,
    capabilities: ALL,
    price: {
      input: '1.25',
      cachedInput: '0.20',
      output: '2.50',
      longContext: { above: 200_000, input: '2.50', cachedInput: '0.40', output: '5.00' },
    },
    priced: { source: PRICING, date: '2026-07-13' },
    suppliers: { xai: 'grok-4.3' },
  },
]
