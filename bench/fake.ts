// The supplier of the benchmark, as a process of its own: `bun fake.ts <gap ms> <events a flush>`. It
// answers with bytes that were made beforehand, and all its streams move on one timer.
import { SPEECH, TASK_ANSWERS, TASK_PATHS } from './task-traffic.ts'
import {
  MARKER,
  MESSAGES_EVENTS,
  MESSAGES_MARKER,
  MESSAGES_PATH,
  PATH,
  RESPONSES_EVENTS,
  RESPONSES_MARKER,
  RESPONSES_PATH,
  STREAM_EVENTS,
  UNARY_ANSWER,
  USAGE_EVENT,
} from './traffic.ts'

interface Stream {
  readonly controller: ReadableStreamDirectController
  readonly flushes: readonly Uint8Array[]
  readonly finish: () => void
  next: number
}

const [gapMs = 1, eventsAFlush = 1] = process.argv.slice(2).map(Number)
const PLAIN = toFlushes(STREAM_EVENTS, MARKER)
const WITH_USAGE = toFlushes(STREAM_EVENTS, USAGE_EVENT + MARKER)
const MESSAGES = toFlushes(MESSAGES_EVENTS, MESSAGES_MARKER)
const RESPONSES = toFlushes(RESPONSES_EVENTS, RESPONSES_MARKER)
const unaryAnswer = Buffer.from(UNARY_ANSWER)
const streams = new Set<Stream>()
let timer: Timer | undefined
let isHolding = false
let lastBody: Uint8Array = new Uint8Array()

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  // A held stream is silent for as long as the benchmark needs.
  idleTimeout: 0,
  routes: {
    [PATH]: { POST: answer },
    [MESSAGES_PATH]: { POST: (request) => answerStreamed(request, MESSAGES) },
    [RESPONSES_PATH]: { POST: (request) => answerStreamed(request, RESPONSES) },
    [TASK_PATHS.transcription]: { POST: (request) => answerTask(request, TASK_ANSWERS.heard) },
    [TASK_PATHS.embedding]: { POST: answerVectors },
    [TASK_PATHS.speech]: { POST: answerSound },
    '/control/hold': { POST: () => hold(true) },
    '/control/release': { POST: () => hold(false) },
    '/control/streams': () => new Response(String(streams.size)),
    '/control/last': () => new Response(lastBody),
  },
})
process.stdout.write(`${server.url.origin}\n`)

async function answer(request: Request): Promise<Response> {
  const body = Buffer.from(await request.arrayBuffer())
  lastBody = body
  if (body.includes('"stream":true'))
    return stream(body.includes('"include_usage":true') ? WITH_USAGE : PLAIN)
  return new Response(unaryAnswer, { headers: { 'content-type': 'application/json' } })
}

/** Reads to the end, as whoever works with it would, and keeps nothing. */
async function answerTask(request: Request, text: string): Promise<Response> {
  await request.arrayBuffer()
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

async function answerVectors(request: Request): Promise<Response> {
  const isText = (await request.text()).includes('"base64"')
  const text = isText ? TASK_ANSWERS.base64 : TASK_ANSWERS.floats
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

async function answerSound(request: Request): Promise<Response> {
  await request.arrayBuffer()
  return new Response(SPEECH, { headers: { 'content-type': 'audio/mpeg' } })
}

/** Streams alone. */
async function answerStreamed(request: Request, flushes: readonly Uint8Array[]): Promise<Response> {
  lastBody = Buffer.from(await request.arrayBuffer())
  return stream(flushes)
}

/** The usage and the marker leave together with the last event, as suppliers send them. */
function toFlushes(events: readonly string[], ending: string): readonly Uint8Array[] {
  const flushes: string[] = []
  for (let from = 0; from < events.length; from += eventsAFlush)
    flushes.push(events.slice(from, from + eventsAFlush).join(''))
  return [...flushes.slice(0, -1), flushes.at(-1) + ending].map((text) => Buffer.from(text))
}

function stream(flushes: readonly Uint8Array[]): Response {
  let own: Stream | undefined
  const source: Bun.DirectUnderlyingSource = {
    type: 'direct',
    pull: (controller) =>
      new Promise<void>((finish) => {
        own = { controller, flushes, finish, next: 0 }
        streams.add(own)
        move(own)
        if (streams.size > 0) timer ??= setInterval(moveAll, gapMs)
      }),
    cancel: () => {
      if (own) end(own)
    },
  }
  return new Response(new ReadableStream(source), {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' },
  })
}

function moveAll(): void {
  for (const each of streams) move(each)
  if (streams.size > 0) return
  clearInterval(timer)
  timer = undefined
}

/** Writes the next flush, or without a gap all of them. A held stream stops half-way. */
function move(each: Stream): void {
  const { controller, flushes } = each
  const count = gapMs === 0 ? flushes.length : 1
  for (const flush of flushes.slice(each.next, each.next + count)) {
    if (isHolding && each.next * 2 >= flushes.length) return
    void controller.write(flush)
    void controller.flush()
    each.next++
  }
  if (each.next < flushes.length) return
  controller.close()
  end(each)
}

function end(each: Stream): void {
  streams.delete(each)
  each.finish()
}

function hold(value: boolean): Response {
  isHolding = value
  return new Response()
}
