// A supplier that can be told to fall silent or to answer with 500, as a process of its own so that it can also be
// killed: `bun supplier.ts <port>`.
import { MARKER, PATH, STREAM_EVENTS, UNARY_ANSWER, USAGE_EVENT } from '../traffic.ts'

type Mood = 'good' | 'silent' | 'broken'

let mood: Mood = 'good'
const stream = STREAM_EVENTS.join('') + USAGE_EVENT + MARKER

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  idleTimeout: 0,
  routes: {
    [PATH]: { POST: answer },
    '/control/good': { POST: () => become('good') },
    '/control/silent': { POST: () => become('silent') },
    '/control/broken': { POST: () => become('broken') },
  },
})
process.stdout.write(`${server.url.origin}\n`)

function become(next: Mood): Response {
  mood = next
  return new Response()
}

async function answer(request: Request): Promise<Response> {
  const isStream = (await request.text()).includes('"stream":true')
  if (mood === 'silent') return new Promise(() => {})
  if (mood === 'broken')
    return Response.json({ error: { message: 'on fire', type: 'server_error' } }, { status: 500 })
  if (!isStream)
    return new Response(UNARY_ANSWER, { headers: { 'content-type': 'application/json' } })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
}
