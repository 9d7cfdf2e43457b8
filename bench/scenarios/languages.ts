// What a stream costs in each language, relayed and converted, and by a sign-in. All ways go through one gateway, in short rounds by
// turns, and each is compared with the chat relay of the same round.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HEADERS, ROOT_KEY } from '../candidates/candidate.ts'
import { median } from '../figures.ts'
import type { Order } from '../load/load.ts'
import { createOwn } from '../load/own.ts'
import { cpuBetween, readCpu } from '../meter.ts'
import type { Running } from '../processes.ts'
import {
  chatRequest,
  EVENTS,
  MARKER,
  MESSAGES_PATH,
  messagesRequest,
  NATIVE_PATH,
  nativeRequest,
  PATH,
  SUPPLIER_MODEL,
} from '../traffic.ts'
import type { Outcome, Scenario, Stage } from './scenario.ts'

const MAIN = resolve(import.meta.dir, '../../src/main.ts')
const BYTES = 1024
const CHAT_MODEL = 'bench-chat'
const MESSAGES_MODEL = 'bench-messages'
const NATIVE_MODEL = 'bench-native'
const NATIVE_SUPPLIER = 'native-compatible'
const LAST_WORD = ` word ${EVENTS - 2}"`
const MESSAGES_END = '"type":"message_stop"'
const NATIVE_END = '"type":"response.completed"'
const AFTERMATH_MS = 250

interface Way {
  readonly label: string
  readonly order: Pick<Order, 'body' | 'answer'> & { readonly path: string }
  /** The goal, as a multiple of the chat relay. */
  readonly atMost?: number
}

const WAYS: readonly Way[] = [
  { label: 'chat relayed', order: chatOrder(CHAT_MODEL) },
  { label: 'messages relayed', order: messagesOrder(MESSAGES_MODEL), atMost: 1.1 },
  { label: 'native relayed', order: nativeOrder(), atMost: 1.1 },
  { label: 'messages from a chat supplier', order: messagesOrder(CHAT_MODEL), atMost: 2.5 },
  { label: 'chat from a messages supplier', order: chatOrder(MESSAGES_MODEL), atMost: 2.5 },
]

function chatOrder(model: string): Way['order'] {
  const includes = [LAST_WORD, MARKER.trimEnd()]
  return answering(PATH, chatRequest(model, BYTES, true), includes)
}

function messagesOrder(model: string): Way['order'] {
  return answering(MESSAGES_PATH, messagesRequest(model, BYTES), [LAST_WORD, MESSAGES_END])
}

function nativeOrder(): Way['order'] {
  return answering(NATIVE_PATH, nativeRequest(NATIVE_MODEL, BYTES), [LAST_WORD, NATIVE_END])
}

function answering(path: string, body: string, includes: readonly string[]): Way['order'] {
  return { path, body, answer: { text: '', isLoose: true, includes } }
}

export const languages: Scenario = {
  id: 'languages',
  title: 'streams of 50 chunks by language',
  needsField: false,
  async run(stage) {
    const gateway = await startGateway(stage)
    try {
      await signIn(gateway)
      return await measure(stage, gateway)
    } finally {
      await gateway.stop()
    }
  },
}

function startGateway({ site: { processes, supplier } }: Stage): Promise<Running> {
  const folder = processes.createFolder('languages')
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configuration(supplier))
  return processes.start({
    name: 'languages',
    command: [process.execPath, MAIN, 'start', '--config', file],
    environment: { PORT: '0', GATEWAY_DATA: folder, GATEWAY_ROOT_KEY: ROOT_KEY },
    hasTerminal: true,
  })
}

/** With a token that is used until somebody refuses it. */
async function signIn({ url }: Running): Promise<void> {
  const response = await fetch(`${url}/v1/manage/native/identities`, {
    method: 'POST',
    headers: HEADERS,
    body: JSON.stringify({
      name: 'bench',
      supplier: NATIVE_SUPPLIER,
      access_token: 'bench-token',
    }),
  })
  if (!response.ok) throw new Error(`no sign-in for the native way: ${await response.text()}`)
}

function configuration(supplier: string): string {
  return `suppliers:${nativeText(supplier)}${supplierText('openai-compatible', supplier, CHAT_MODEL)}${supplierText('anthropic-compatible', supplier, MESSAGES_MODEL)}`
}

function supplierText(kind: string, origin: string, model: string): string {
  return `
  ${kind}:
    kind: ${kind}
    origin: ${origin}
    allow_private: true
    credential: bench-credential
    region: EU
    models:
      ${model}:
        as: ${SUPPLIER_MODEL}
        price: { input: 0.15, output: 0.6 }`
}

function nativeText(origin: string): string {
  return `
  ${NATIVE_SUPPLIER}:
    kind: ${NATIVE_SUPPLIER}
    origin: ${origin}
    allow_private: true
    region: EU
    oauth: { token_url: ${origin}/oauth/token, client_id: bench }
    models:
      ${NATIVE_MODEL}:
        as: ${SUPPLIER_MODEL}
        price: { input: 0.15, output: 0.6 }`
}

async function measure({ options, site, say }: Stage, gateway: Running): Promise<Outcome> {
  const load = createOwn(site.processes)
  const problems: string[] = []
  const run = async ({ label, order }: Way, seconds: number): Promise<number> => {
    const { path, ...rest } = order
    const before = readCpu(gateway.pid)
    const url = gateway.url + path
    const tally = await load.run({
      ...rest,
      url,
      headers: HEADERS,
      callers: options.callers,
      seconds,
    })
    await Bun.sleep(AFTERMATH_MS)
    gateway.assertRuns()
    if (tally.failed > 0) problems.push(`${label}: ${tally.failed} failed: ${tally.complaint}`)
    return cpuBetween(before, readCpu(gateway.pid)).micros / tally.calls
  }
  for (const way of WAYS) await run(way, options.seconds)
  const costs = WAYS.map((): number[] => [])
  for (let round = 0; round < options.rounds; round++)
    for (let turn = 0; turn < WAYS.length; turn++) {
      const index = (turn + round) % WAYS.length
      const micros = await run(WAYS[index]!, options.seconds)
      costs[index]!.push(micros)
      say(
        `languages  round ${round + 1}/${options.rounds}  ${WAYS[index]!.label}  ${micros.toFixed(0)} µs`,
      )
    }
  const measures = WAYS.slice(1).map(({ label, atMost }, index) => {
    const ratios = costs[index + 1]!.map((micros, round) => micros / costs[0]![round]!)
    const goal = atMost === undefined ? {} : { atMost }
    return {
      label: `${label}: CPU beside a chat relay`,
      value: median(ratios),
      unit: '×' as const,
      ...goal,
    }
  })
  return { measures, problems }
}
