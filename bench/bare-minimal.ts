// The floor: the least that still is a proxy, `bun bare-minimal.ts <origin>`. Its headers are fixed
// and its address is known, so what is left is the cost of the runtime alone.
import { PATH } from './traffic.ts'

const target = (process.argv[2] ?? '') + PATH
const REQUEST_HEADERS = new Headers({ 'content-type': 'application/json' })

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const body = await request.arrayBuffer()
    const answer = await fetch(target, { method: 'POST', headers: REQUEST_HEADERS, body })
    const type = answer.headers.get('content-type') ?? 'application/json'
    return new Response(answer.body, { headers: { 'content-type': type } })
  },
})
process.stdout.write(`${server.url.origin}\n`)
