// Chat models of this maker and their prices, as published: the paid standard tier. What a cache costs
// while it is kept, by the hour, is not in a call and not here.
import type { Capability, ModelRow, Provenance } from '../model.ts'

const PRICING = 'https://ai.google.dev/gemini-api/docs/pricing'
const EARLY_OCTOBER: Provenance = { source: PRICING, date: '2026-10-03' }
const OCTOBER: Provenance = { source: PRICING, date: '2026-10-07' }

const ALL: readonly Capability[] = ['tools', 'images', 'audio', 'json', 'reasoning']

// What one image counts for at most from gemini-3 on, at its highest resolution
// (https://ai.google.dev/gemini-api/docs/media-resolution, seen 2026-10). Models before cut an image into
// tiles, and no page says how many there can be.
const IMAGE_TOKENS = 2240

export const googleModels: readonly ModelRow[] = [
  {
    id: 'gemini-4-argon',
    ownedBy: 'google',
    kind: 'chat',
    // One limit for input and output together.
    contextWindow: 1_048_576,
    outputCeiling: 1_048_576,
    capabilities: ALL,
    price: [
      { input: '2.00', cachedInput: '0.10', output: '10.00' },
      { from: '2026-12-01', input: '4.00', cachedInput: '0.20', output: '20.00' },
    ],
    priced: {
      source: 'https://ai.google.dev/gemini-api/docs/generate-content/latest-model',
      date: '2026-10-14',
    },
    suppliers: { gemini: 'gemini-4-argon' },
  },
  {
    id: 'gemini-3.8-flash',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: [
      { input: '0.75', cachedInput: '0.075', output: '3.75' },
      { from: '2027-01-01', input: '1.50', cachedInput: '0.15', output: '7.50' },
    ],
    priced: OCTOBER,
    suppliers: { gemini: 'gemini-3.8-flash' },
  },
  {
    id: 'gemini-3.5-flash',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: { input: '1.50', cachedInput: '0.15', output: '9.00' },
    priced: OCTOBER,
    suppliers: { gemini: 'gemini-3.5-flash' },
  },
  {
    id: 'gemini-3.5-flash-lite',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: { input: '0.30', cachedInput: '0.03', output: '2.50' },
    priced: OCTOBER,
    suppliers: { gemini: 'gemini-3.5-flash-lite' },
  },
  {
    id: 'gemini-3.1-pro-preview',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: {
      input: '2.00',
      cachedInput: '0.20',
      output: '12.00',
      longContext: { above: 200_000, input: '4.00', cachedInput: '0.40', output: '18.00' },
    },
    priced: OCTOBER,
    suppliers: { gemini: 'gemini-3.1-pro-preview' },
  },
  {
    id: 'gemini-3.1-flash-lite',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: { input: '0.25', cachedInput: '0.025', audioInput: '0.50', output: '1.50' },
    priced: EARLY_OCTOBER,
    suppliers: { gemini: 'gemini-3.1-flash-lite' },
  },
  {
    id: 'gemini-3-flash-preview',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    imageTokens: IMAGE_TOKENS,
    capabilities: ALL,
    price: { input: '0.50', cachedInput: '0.05', audioInput: '1.00', output: '3.00' },
    priced: EARLY_OCTOBER,
    suppliers: { gemini: 'gemini-3-flash-preview' },
  },
  {
    id: 'gemini-2.5-pro',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    capabilities: ALL,
    price: {
      input: '1.25',
      cachedInput: '0.125',
      output: '10.00',
      longContext: { above: 200_000, input: '2.50', cachedInput: '0.25', output: '15.00' },
    },
    priced: EARLY_OCTOBER,
    suppliers: { gemini: 'gemini-2.5-pro' },
  },
  {
    id: 'gemini-2.5-flash',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    capabilities: ALL,
    price: { input: '0.30', cachedInput: '0.03', audioInput: '1.00', output: '2.50' },
    priced: EARLY_OCTOBER,
    suppliers: { gemini: 'gemini-2.5-flash' },
  },
  {
    id: 'gemini-2.5-flash-lite',
    ownedBy: 'google',
    kind: 'chat',
    contextWindow: 1_048_576,
    outputCeiling: 65_536,
    outputApart: true,
    capabilities: ALL,
    price: { input: '0.10', cachedInput: '0.01', audioInput: '0.30', output: '0.40' },
    priced: EARLY_OCTOBER,
    suppliers: { gemini: 'gemini-2.5-flash-lite' },
  },
]
