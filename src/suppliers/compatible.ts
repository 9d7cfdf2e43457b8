// Suppliers that speak the chat-completions language and differ by address, path and credential
// variable alone. A new one is a row here, not a file; discovery is pure and reads no environment.
import type { CatalogueModel } from '../catalog/model.ts'
import { toPicoUsd } from '../core/money.ts'
import { Secret } from '../core/secret.ts'
import type { Price } from '../core/usage.ts'
import type { Dialect, UsageHabit } from '../dialects/dialect.ts'
import type { ModelRoute, Supplier } from './supplier.ts'

export interface CompatibleRow {
  readonly id: string
  readonly origin: string
  readonly path: string
  /** Variables that switch the supplier on; the first that is set counts. */
  readonly environment: readonly string[]
  readonly usage: UsageHabit
  /** The variable holds the address of one's own server: no credential, any model, free. */
  readonly local?: true
}

const CHAT_PATH = '/v1/chat/completions'
const LOCAL_PORT = 11_434
const FREE: Price = { input: toPicoUsd(0), output: toPicoUsd(0) }

// Habits as seen in public documentation and code up to 2026-10: `ask` where usage comes on
// request, `always` where it comes unasked.
export const compatible: readonly CompatibleRow[] = [
  {
    id: 'openai',
    origin: 'https://api.openai.com',
    path: CHAT_PATH,
    environment: ['OPENAI_API_KEY'],
    usage: 'ask',
  },
  {
    // Answers 422 to `stream_options` (avante-corp/avante.nvim #2347, 2025-06) and tells usage in
    // the last frame by itself.
    id: 'mistral',
    origin: 'https://api.mistral.ai',
    path: CHAT_PATH,
    environment: ['MISTRAL_API_KEY'],
    usage: 'always',
  },
  {
    id: 'groq',
    origin: 'https://api.groq.com',
    path: '/openai/v1/chat/completions',
    environment: ['GROQ_API_KEY'],
    usage: 'ask',
  },
  {
    id: 'deepseek',
    origin: 'https://api.deepseek.com',
    path: '/chat/completions',
    environment: ['DEEPSEEK_API_KEY'],
    usage: 'ask',
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #17986, 2026-07).
    id: 'together',
    origin: 'https://api.together.xyz',
    path: CHAT_PATH,
    environment: ['TOGETHER_API_KEY'],
    usage: 'ask',
  },
  {
    id: 'openrouter',
    origin: 'https://openrouter.ai',
    path: '/api/v1/chat/completions',
    environment: ['OPENROUTER_API_KEY'],
    usage: 'always',
  },
  {
    id: 'gemini',
    origin: 'https://generativelanguage.googleapis.com',
    path: '/v1beta/openai/chat/completions',
    environment: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    usage: 'always',
  },
  {
    id: 'xai',
    origin: 'https://api.x.ai',
    path: CHAT_PATH,
    environment: ['XAI_API_KEY'],
    usage: 'ask',
  },
  {
    // Some models tell usage unasked and others do not (vercel/ai #16087, 2026-06).
    id: 'fireworks',
    origin: 'https://api.fireworks.ai',
    path: '/inference/v1/chat/completions',
    environment: ['FIREWORKS_API_KEY'],
    usage: 'ask',
  },
  {
    id: 'cerebras',
    origin: 'https://api.cerebras.ai',
    path: CHAT_PATH,
    environment: ['CEREBRAS_API_KEY'],
    usage: 'ask',
  },
  {
    id: 'nebius',
    origin: 'https://api.tokenfactory.nebius.com',
    path: CHAT_PATH,
    environment: ['NEBIUS_API_KEY'],
    usage: 'ask',
  },
  {
    id: 'ollama',
    origin: `http://127.0.0.1:${LOCAL_PORT}`,
    path: CHAT_PATH,
    environment: ['OLLAMA_HOST'],
    usage: 'ask',
    local: true,
  },
]

/** Suppliers whose variable is set. Throws on a local address that is none, without quoting it. */
export function discoverSuppliers(
  rows: readonly CompatibleRow[],
  lookup: (name: string) => string | undefined,
  catalogue: readonly CatalogueModel[],
  dialect: Dialect,
): readonly Supplier[] {
  return rows.flatMap((row) => {
    const found = findVariable(row.environment, lookup)
    if (!found) return []
    const address = row.local ? readLocalAddress(found.name, found.value) : undefined
    return {
      id: row.id,
      origin: address?.origin ?? row.origin,
      region: 'global',
      credential: row.local ? undefined : new Secret(found.value),
      services: [{ dialect, path: (address?.prefix ?? '') + row.path }],
      quirks: { usage: row.usage },
      models: findRoutes(row.id, catalogue),
      anyModel: row.local ? FREE : undefined,
      allowPrivate: row.local === true,
    }
  })
}

interface Variable {
  readonly name: string
  readonly value: string
}

/** Trimmed, because a key read from a file often ends in a line break that no header may carry. */
function findVariable(
  names: readonly string[],
  lookup: (name: string) => string | undefined,
): Variable | undefined {
  for (const name of names) {
    const value = lookup(name)?.trim()
    if (value) return { name, value }
  }
  return undefined
}

function findRoutes(
  supplier: string,
  catalogue: readonly CatalogueModel[],
): ReadonlyMap<string, ModelRoute> {
  const routes = new Map<string, ModelRoute>()
  for (const model of catalogue) {
    const route = model.suppliers.get(supplier)
    if (route) routes.set(model.id, { as: route.as, price: route.price, ownedBy: model.ownedBy })
  }
  return routes
}

interface LocalAddress {
  readonly origin: string
  readonly prefix: string
}

/**
 * Reads `host`, `host:port`, `:port` or a URL. A URL without a port means its scheme's own, as the
 * server itself reads the variable.
 */
function readLocalAddress(name: string, text: string): LocalAddress {
  const url = text.includes('://') ? text : `http://${withPort(text.replace(/\/+$/, ''))}`
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw new Error(`${name} is not an address: write a host, host:port or an http(s) URL`)
  }
  // A server that listens on every interface is set to these, but nobody can call them.
  if (address.hostname === '0.0.0.0') address.hostname = '127.0.0.1'
  if (address.hostname === '[::]') address.hostname = '[::1]'
  return { origin: address.origin, prefix: address.pathname.replace(/\/+$/, '') }
}

function withPort(host: string): string {
  if (/^:\d+$/.test(host)) return `127.0.0.1${host}`
  const isBareIpv6 = !host.startsWith('[') && host.split(':').length > 2
  if (isBareIpv6) return `[${host}]:${LOCAL_PORT}`
  return /:\d+$/.test(host) ? host : `${host}:${LOCAL_PORT}`
}
