// Models that hear and models that speak, and their prices as published: by the minute, by the character,
// or by the token where the maker counts tokens.
import type { ModelRow, Provenance } from '../model.ts'
import { azure, regional, zoned } from '../regional.ts'

const PRICING: Provenance = {
  source: 'https://developers.openai.com/api/docs/pricing',
  date: '2026-09-11',
}
// Ten seconds are the least that a call is billed there, and a price has no least here.
const GROQ: Provenance = { source: 'https://console.groq.com/docs/models', date: '2026-09-20' }

export const audioModels: readonly ModelRow[] = [
  {
    id: 'gpt-transcribe',
    ownedBy: 'openai',
    kind: 'transcription',
    capabilities: [],
    price: { minute: '0.0045' },
    priced: {
      source: 'https://developers.openai.com/api/docs/models/gpt-transcribe',
      date: '2026-10-04',
    },
    suppliers: { openai: regional('gpt-transcribe') },
  },
  {
    id: 'gpt-4o-transcribe',
    ownedBy: 'openai',
    kind: 'transcription',
    contextWindow: 16_000,
    outputCeiling: 2000,
    capabilities: [],
    price: { input: '2.50', output: '10.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4o-transcribe', azure: azure('gpt-4o-transcribe') },
  },
  {
    id: 'gpt-4o-mini-transcribe',
    ownedBy: 'openai',
    kind: 'transcription',
    contextWindow: 16_000,
    outputCeiling: 2000,
    capabilities: [],
    price: { input: '1.25', output: '5.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4o-mini-transcribe', azure: azure('gpt-4o-mini-transcribe') },
  },
  {
    id: 'whisper-1',
    ownedBy: 'openai',
    kind: 'transcription',
    capabilities: [],
    price: { minute: '0.006' },
    priced: PRICING,
    suppliers: { openai: 'whisper-1', azure: azure('whisper-1') },
  },
  {
    id: 'whisper-large-v3',
    ownedBy: 'openai',
    kind: 'transcription',
    capabilities: [],
    // 0.111 dollars an hour.
    price: { minute: '0.00185' },
    priced: GROQ,
    suppliers: { groq: 'whisper-large-v3' },
  },
  {
    id: 'whisper-large-v3-turbo',
    ownedBy: 'openai',
    kind: 'transcription',
    capabilities: [],
    // 0.04 dollars an hour, which has no end in minutes: rounded up.
    price: { minute: '0.000666667' },
    priced: GROQ,
    suppliers: { groq: 'whisper-large-v3-turbo' },
  },
  {
    id: 'voxtral-mini-2602',
    ownedBy: 'mistralai',
    kind: 'transcription',
    capabilities: [],
    price: { minute: '0.003' },
    priced: {
      source: 'https://docs.mistral.ai/models/voxtral-mini-transcribe-26-02',
      date: '2026-08-27',
    },
    suppliers: { mistral: zoned('voxtral-mini-2602') },
  },
  {
    id: 'voxtral-small-transcribe-3-0',
    ownedBy: 'mistralai',
    kind: 'transcription',
    capabilities: [],
    // 0.00006667 dollars a second there, which the maker asks by the minute.
    price: { minute: '0.004' },
    priced: {
      source: 'https://vercel.com/ai-gateway/models/voxtral-small-transcribe-3.md',
      date: '2026-11-15',
    },
    suppliers: {
      mistral: zoned('voxtral-small-transcribe-3-0'),
      openrouter: zoned('mistralai/voxtral-small-transcribe-3-0'),
    },
  },
  {
    id: 'voxtral-mini-transcribe-3-0',
    ownedBy: 'mistralai',
    kind: 'transcription',
    capabilities: [],
    // 0.00005834 dollars a second there, which the maker asks by the minute.
    price: { minute: '0.0035' },
    priced: {
      source: 'https://vercel.com/ai-gateway/models/voxtral-mini-transcribe-3.md',
      date: '2026-11-15',
    },
    suppliers: { mistral: zoned('voxtral-mini-transcribe-3-0') },
  },
  {
    id: 'gpt-4o-mini-tts',
    ownedBy: 'openai',
    kind: 'speech',
    capabilities: [],
    price: { input: '0.60', audioOutput: '12.00' },
    priced: PRICING,
    suppliers: { openai: 'gpt-4o-mini-tts' },
  },
  {
    id: 'tts-1',
    ownedBy: 'openai',
    kind: 'speech',
    capabilities: [],
    price: { character: '15.00' },
    priced: PRICING,
    suppliers: { openai: 'tts-1', azure: azure('tts-1') },
  },
  {
    id: 'tts-1-hd',
    ownedBy: 'openai',
    kind: 'speech',
    capabilities: [],
    price: { character: '30.00' },
    priced: PRICING,
    suppliers: { openai: 'tts-1-hd', azure: azure('tts-1-hd') },
  },
]
