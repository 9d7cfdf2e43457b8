// The yardstick: the plain proxy that a Bun developer would write, `bun bare.ts <origin>`. It copies
// what a proxy has to copy, knows nothing of models, keys or money, and writes nothing down.
const HOP_BY_HOP = ['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']
const origin = process.argv[2] ?? ''

function passed(headers: Headers): Headers {
  const copy = new Headers(headers)
  for (const name of HOP_BY_HOP) copy.delete(name)
  return copy
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const { pathname, search } = new URL(request.url)
    const headers = passed(request.headers)
    headers.delete('host')
    const { method } = request
    const body = await request.arrayBuffer()
    const init = { method, headers, body, redirect: 'manual', decompress: false } as const
    const answer = await fetch(origin + pathname + search, init)
    return new Response(answer.body, { status: answer.status, headers: passed(answer.headers) })
  },
})
process.stdout.write(`${server.url.origin}\n`)
