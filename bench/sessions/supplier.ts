// A supplier that caches prompts as suppliers do, as a process of its own: for each credential it remembers every
// beginning that it has read, in blocks, and tells in the usage how much of a prompt it knew.
import { PATH, SUPPLIER_MODEL, UNARY_ANSWER } from '../traffic.ts'

const BYTES_A_TOKEN = 4
/** Caches count in steps, and what is short is not cached at all. As the larger suppliers document it. */
const BLOCK_TOKENS = 128
const LEAST_TOKENS = 1024

/** By credential: a number for each beginning. */
const caches = new Map<string, Set<bigint>>()
const answer: object = JSON.parse(UNARY_ANSWER)

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  routes: { [PATH]: { POST: reply } },
})
process.stdout.write(`${server.url.origin}\n`)

async function reply(request: Request): Promise<Response> {
  const { messages }: { messages: readonly unknown[] } = JSON.parse(await request.text())
  const prompt = Buffer.from(messages.map((message) => JSON.stringify(message)).join('\n'))
  const tokens = Math.ceil(prompt.length / BYTES_A_TOKEN)
  const cached = remember(request.headers.get('authorization') ?? '', prompt)
  return Response.json({
    ...answer,
    model: SUPPLIER_MODEL,
    usage: {
      prompt_tokens: tokens,
      completion_tokens: 10,
      total_tokens: tokens + 10,
      prompt_tokens_details: { cached_tokens: cached >= LEAST_TOKENS ? cached : 0 },
    },
  })
}

/** Returns how many tokens from the beginning were known, and knows all of them from now on. */
function remember(credential: string, prompt: Uint8Array): number {
  const cache = caches.get(credential) ?? new Set()
  caches.set(credential, cache)
  const step = BLOCK_TOKENS * BYTES_A_TOKEN
  let beginning = 0n
  let known = 0
  for (let to = step; to <= prompt.length; to += step) {
    beginning = Bun.hash.wyhash(prompt.subarray(to - step, to), beginning)
    if (cache.has(beginning)) known = (to / step) * BLOCK_TOKENS
    cache.add(beginning)
  }
  return known
}
