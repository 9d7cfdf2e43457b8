// What it is worth to keep a conversation where it is: suppliers that cache prompts, conversations that grow, once
// sent wherever chance says and once kept together. No caller names a session, so this is what all of them get.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HEADERS, ROOT_KEY, type Site } from '../candidates/candidate.ts'
import type { Running } from '../processes.ts'
import { PATH, SUPPLIER_MODEL } from '../traffic.ts'
import type { Outcome, Scenario } from './scenario.ts'

const MODEL = 'bench-model'
const MAIN = resolve(import.meta.dir, '../../src/main.ts')
const SUPPLIER = resolve(import.meta.dir, '../sessions/supplier.ts')

const SUPPLIERS = 4
const CONVERSATIONS = 48
const TURNS = 12
/** An agent's instructions, which all conversations share; a task; and what a turn adds. */
const SYSTEM = 'Follow the rules of this house to the letter, and say so. '.repeat(140)
const TASK_BYTES = 2_000
const ANSWER_BYTES = 1_200
const FINDING_BYTES = 4_800

export const sessions: Scenario = {
  id: 'sessions',
  title: 'conversations at suppliers that cache prompts',
  needsField: false,
  async run({ site, say }) {
    // Two of them, so that the first run leaves nothing behind for the second.
    say('sessions  by chance')
    const scattered = await converse(site, 'sessions: 0')
    say('sessions  kept together')
    const kept = await converse(site, 'sessions: 50000')
    return report(scattered, kept)
  },
}

interface Sum {
  readonly calls: number
  readonly failed: number
  readonly tokens: number
  readonly cached: number
}

function report(scattered: Sum, kept: Sum): Outcome {
  const failed = scattered.failed + kept.failed
  const share = ({ tokens, cached }: Sum): number => (100 * cached) / tokens
  const full = ({ tokens, cached }: Sum): number => tokens - cached
  return {
    measures: [
      { label: 'input from a cache, calls scattered', value: share(scattered), unit: '%' },
      { label: 'input from a cache, sessions kept', value: share(kept), unit: '%' },
      { label: 'of that, kept beside scattered', value: share(kept) / share(scattered), unit: '×' },
      {
        label: 'input read anew, kept beside scattered',
        value: full(kept) / full(scattered),
        unit: '×',
      },
    ],
    problems: failed > 0 ? [`sessions: ${failed} calls failed`] : [],
  }
}

async function converse(site: Site, routing: string): Promise<Sum> {
  const supplier = await site.processes.start({
    name: 'caching supplier',
    command: [process.execPath, SUPPLIER],
    environment: {},
  })
  const gateway = await startGateway(site, supplier, routing)
  try {
    const talks = Array.from({ length: CONVERSATIONS }, (_, index) => talk(gateway.url, index))
    return (await Promise.all(talks)).reduce(add)
  } finally {
    await gateway.stop()
    await supplier.stop()
  }
}

/** Several accounts at one address: a cache belongs to an account. */
function startGateway({ processes }: Site, { url }: Running, routing: string): Promise<Running> {
  const folder = processes.createFolder('sessions')
  const file = join(folder, 'gateway.yaml')
  const suppliers = Array.from(
    { length: SUPPLIERS },
    (_, index) => `
  supplier-${index + 1}:
    kind: openai-compatible
    origin: ${url}
    allow_private: true
    credential: bench-credential-${index + 1}
    models: { ${MODEL}: { as: ${SUPPLIER_MODEL}, price: { input: 0.15, output: 0.6 } } }`,
  )
  writeFileSync(file, `suppliers:${suppliers.join('')}\nrouting: { policy: weight, ${routing} }\n`)
  return processes.start({
    name: 'gateway',
    command: [process.execPath, MAIN, 'start', '--config', file],
    environment: { PORT: '0', GATEWAY_DATA: folder, GATEWAY_ROOT_KEY: ROOT_KEY },
    hasTerminal: true,
  })
}

interface Message {
  readonly role: string
  readonly content: string
}

async function talk(url: string, index: number): Promise<Sum> {
  const messages: Message[] = [
    { role: 'system', content: SYSTEM },
    { role: 'user', content: fill(`Task ${index}. `, TASK_BYTES) },
  ]
  let sum: Sum = { calls: 0, failed: 0, tokens: 0, cached: 0 }
  for (let turn = 0; turn < TURNS; turn++) {
    // oxlint-disable-next-line no-await-in-loop -- a turn needs the answer to the one before
    sum = add(sum, await ask(url, messages))
    messages.push(
      { role: 'assistant', content: fill(`Step ${turn} of ${index}. `, ANSWER_BYTES) },
      { role: 'user', content: fill(`Finding ${turn} of ${index}. `, FINDING_BYTES) },
    )
  }
  return sum
}

function fill(text: string, bytes: number): string {
  return text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)
}

async function ask(url: string, messages: readonly Message[]): Promise<Sum> {
  const body = JSON.stringify({ model: MODEL, messages })
  const response = await fetch(url + PATH, { method: 'POST', headers: HEADERS, body })
  const { usage }: { usage?: Usage } = JSON.parse(await response.text())
  if (usage === undefined) return { calls: 1, failed: 1, tokens: 0, cached: 0 }
  const { prompt_tokens: tokens, prompt_tokens_details: details } = usage
  return { calls: 1, failed: 0, tokens, cached: details.cached_tokens }
}

interface Usage {
  readonly prompt_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
}

function add(one: Sum, other: Sum): Sum {
  return {
    calls: one.calls + other.calls,
    failed: one.failed + other.failed,
    tokens: one.tokens + other.tokens,
    cached: one.cached + other.cached,
  }
}
