// A plain client of the demo supplier, for its tests. It checks what every answer must have, so that a
// test speaks only of its own matter.
import { expect } from 'bun:test'
import type { DemoServer } from '../../src/suppliers/demo/server.ts'

export const CREDENTIAL = 'demo-credential'

export interface ToolCall {
  readonly index?: number
  readonly id?: string
  readonly type?: string
  readonly function: { readonly name?: string; readonly arguments: string }
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly prompt_tokens_details: { readonly cached_tokens: number }
  readonly completion_tokens_details: { readonly reasoning_tokens: number }
}

export interface Logprob {
  readonly token: string
  readonly logprob: number
  readonly bytes: readonly number[]
  readonly top_logprobs: readonly Omit<Logprob, 'top_logprobs'>[]
}

export interface Said {
  readonly role?: string
  readonly content?: string | null
  readonly refusal?: null
  readonly reasoning_content?: string
  readonly tool_calls?: readonly ToolCall[]
}

export interface Answer {
  readonly id: string
  readonly object: string
  readonly created: number
  readonly model: string
  readonly choices: readonly {
    readonly index: number
    readonly message: Said
    readonly delta: Said
    readonly finish_reason: string | null
    readonly logprobs: { readonly content: readonly Logprob[] } | null
  }[]
  readonly usage?: Usage | null
}

export interface Failure {
  readonly error: { readonly message: string; readonly type: string; readonly code: string | null }
}

export interface Refused extends Failure {
  readonly status: number
  readonly headers: Headers
}

export interface Client {
  readonly send: (body: unknown, init?: RequestInit) => Promise<Response>
  readonly complete: (body: object) => Promise<Answer>
  /** The text of the first choice. */
  readonly say: (body: object) => Promise<string | null | undefined>
  readonly refuse: (body: unknown) => Promise<Refused>
  /** A whole stream: its chunks, after the marker of its end was seen and taken off. */
  readonly stream: (body: object) => Promise<readonly Answer[]>
}

export function createClient(server: DemoServer): Client {
  const client: Client = {
    send(body, init = {}) {
      return fetch(`${server.origin}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${CREDENTIAL}`, 'content-type': 'application/json' },
        body: typeof body === 'string' ? body : JSON.stringify(body),
        redirect: 'manual',
        ...init,
      })
    },
    async complete(body) {
      const response = await client.send({ model: 'chat', ...body })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/json')
      return readAnswer(await response.text())
    },
    async say(body) {
      return (await client.complete(body)).choices[0]?.message.content
    },
    async refuse(body) {
      const response = await client.send(body)
      const { error }: Failure = JSON.parse(await response.text())
      return { status: response.status, headers: response.headers, error }
    },
    async stream(body) {
      const response = await client.send({ model: 'chat', stream: true, ...body })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const frames = readFrames(await response.text())
      expect(frames.at(-1)).toBe('[DONE]')
      return frames.slice(0, -1).map(readAnswer)
    },
  }
  return client
}

export function user(content: unknown): { readonly messages: readonly unknown[] } {
  return { messages: [{ role: 'user', content }] }
}

/** The data of each event; every event must be whole. */
export function readFrames(text: string): readonly string[] {
  const frames = text.split('\n\n')
  expect(frames.pop()).toBe('')
  return frames.map((frame) => {
    expect(frame).toStartWith('data: ')
    return frame.slice('data: '.length)
  })
}

export function readAnswer(text: string): Answer {
  const answer: Answer = JSON.parse(text)
  return answer
}

export function deltasOf(chunks: readonly Answer[], index = 0): readonly Said[] {
  const choices = chunks.flatMap((chunk) => chunk.choices)
  return choices.filter((choice) => choice.index === index).map((choice) => choice.delta)
}

export function textOf(deltas: readonly Said[]): string {
  return deltas.map((delta) => delta.content ?? '').join('')
}

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 3 } },
      required: ['city', 'days'],
    },
  },
}
const CLOCK = {
  type: 'function',
  function: {
    name: 'get_time',
    parameters: {
      type: 'object',
      properties: { zone: { enum: ['UTC', 'CET'] } },
      required: ['zone'],
    },
  },
}
export const TOOLS = [WEATHER, CLOCK]
