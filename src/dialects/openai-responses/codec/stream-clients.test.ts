// What real clients make of what is written here: both versions of the maker's SDK and the one that many frameworks stand
// on. They read from a server that answers every question with the same, whole or as a stream.
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, jsonSchema, streamText, tool, type LanguageModel, type ToolSet } from 'ai'
import { afterAll, describe, expect, it } from 'bun:test'
import OpenAI from 'openai'
import OpenAI6 from 'openai-6'
import fc from 'fast-check'
import { answers, streamOf } from '../../../../test/fakes/conversations.ts'
import type { AnswerHead, AssistantPart, ChatResponse, Finish } from '../../../core/chat.ts'
import type { Usage } from '../../../core/usage.ts'
import { encodeResponse } from './response-encode.ts'
import { createEncoder } from './stream-encode.ts'

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/model',
  created: 1_800_000_000,
  supplier: 'shop',
  inputTokens: 12,
  asksUsage: true,
}
const USAGE: Usage = {
  inputTokens: 30,
  cachedTokens: 10,
  cacheWriteTokens: 5,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 20,
  reasoningTokens: 7,
  audioOutputTokens: 0,
}

interface Case extends ChatResponse {
  readonly text: string
  /** With what the model says in place of an answer: some clients make no difference. */
  readonly spoken: string
  readonly thoughts: readonly string[]
  readonly calls: readonly (readonly [id: string, name: string, input: unknown])[]
}

function caseOf(parts: readonly AssistantPart[], reason: Finish['reason']): Case {
  return {
    parts,
    finish: { reason, raw: undefined },
    lost: [],
    text: parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''),
    spoken: parts
      .map((part) => (part.kind === 'text' || part.kind === 'refusal' ? part.text : ''))
      .join(''),
    thoughts: parts.flatMap((part) => (part.kind === 'thinking' ? [part.text] : [])),
    calls: parts.flatMap((part) =>
      part.kind === 'call' ? [[part.id, part.name, JSON.parse(part.input)] as const] : [],
    ),
  }
}

const seal = { data: 'c2ln', supplier: undefined }
const look = (id: string, at: string): AssistantPart => ({
  kind: 'call',
  id,
  name: 'look',
  input: JSON.stringify({ at }),
})
const CASES: Readonly<Record<string, Case>> = {
  text: caseOf([{ kind: 'text', text: 'Hello, \u2028"world" 😀\n\n' }], 'end'),
  'texts of one message': caseOf(
    [
      { kind: 'text', text: 'One' },
      { kind: 'text', text: 'Two' },
    ],
    'end',
  ),
  thoughts: caseOf(
    [
      { kind: 'thinking', text: 'Hm', seal },
      { kind: 'thinking', text: '', seal, isHidden: true },
      { kind: 'thinking', text: 'So' },
      { kind: 'text', text: 'Yes' },
    ],
    'end',
  ),
  'calls side by side': caseOf(
    [{ kind: 'text', text: 'I look.' }, look('call_1', 'a'), look('call_2', '}{"'), look('x', '')],
    'tools',
  ),
  'a text that was cut': caseOf([{ kind: 'text', text: 'So far' }], 'length'),
  'a refusal': caseOf([{ kind: 'refusal', text: 'I cannot.' }], 'refusal'),
  nothing: caseOf([], 'end'),
}
/** What is asked for by this name may be anything. */
const ANY = 'any'
let any: ChatResponse = CASES['nothing']!

const encoder = new TextEncoder()
const SIZES = [3, 1, 4]
const ORDER = [0, 2, 1, 1]

function streamedText(answer: ChatResponse): string {
  const writer = createEncoder(HEAD)
  const events = streamOf(answer, SIZES, ORDER)
  return events.map((event) => writer.encode(event)).join('') + writer.end(USAGE)
}

/** Which case is asked for stands in the path. */
const server = Bun.serve({
  port: 0,
  async fetch(request) {
    const name = decodeURIComponent(new URL(request.url).pathname.split('/')[1]!)
    const answer = name === ANY ? any : CASES[name]!
    const { stream } = (await request.json()) as { stream?: boolean }
    if (stream === true)
      return new Response(encoder.encode(streamedText(answer)), {
        headers: { 'content-type': 'text/event-stream' },
      })
    const body = encodeResponse({ ...answer, usage: USAGE }, HEAD)
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  },
})

afterAll(() => server.stop(true))

function baseOf(name: string): string {
  return `http://127.0.0.1:${server.port}/${encodeURIComponent(name)}/v1`
}

const SDKS = [
  ['openai 7', OpenAI],
  ['openai 6', OpenAI6 as unknown as typeof OpenAI],
] as const

for (const [sdkName, Sdk] of SDKS)
  describe(sdkName, () => {
    for (const [name, expected] of Object.entries(CASES)) {
      const client = new Sdk({ baseURL: baseOf(name), apiKey: 'k', maxRetries: 0 })
      const question = { model: 'm', input: 'Hi' }

      it(`reads ${name}, whole`, async () => {
        checkResponse(await client.responses.create(question), expected)
      })

      it(`reads ${name} from a stream, and adds it up to the same`, async () => {
        const whole = await client.responses.create(question)
        const stream = client.responses.stream(question)
        const texts: string[] = []
        const inputs = new Map<number, string>()
        stream.on('response.output_text.delta', ({ delta }) => texts.push(delta))
        stream.on('response.function_call_arguments.delta', ({ delta, output_index: index }) =>
          inputs.set(index, (inputs.get(index) ?? '') + delta),
        )
        const final = await stream.finalResponse()
        checkResponse(final, expected)
        expect(texts.join('')).toBe(expected.text)
        expect([...inputs.values()].map((text) => JSON.parse(text) as unknown)).toEqual(
          expected.calls.map(([, , input]) => input),
        )
        expect(withoutParsed(final)).toEqual(withoutParsed(whole))
      })
    }

    it('adds up the stream of any answer to what it would have got at once', async () => {
      const client = new Sdk({ baseURL: baseOf(ANY), apiKey: 'k', maxRetries: 0 })
      const question = { model: 'm', input: 'Hi' }
      await fc.assert(
        fc.asyncProperty(answers, async (answer) => {
          any = answer
          const whole = await client.responses.create(question)
          const added = await client.responses.stream(question).finalResponse()
          expect(withoutParsed(added)).toEqual(withoutParsed(whole))
        }),
        { numRuns: 40 },
      )
    })
  })

function checkResponse(response: OpenAI.Responses.Response, expected: Case): void {
  const isCut = expected.finish.reason === 'length'
  expect(response.id).toBe('resp_abc')
  expect(response.output_text).toBe(expected.text)
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
  expect(response.incomplete_details).toEqual(isCut ? { reason: 'max_output_tokens' } : null)
  const calls = response.output.filter((item) => item.type === 'function_call')
  expect(
    calls.map(({ call_id: id, name, arguments: input }) => [id, name, JSON.parse(input)]),
  ).toEqual(expected.calls as never)
  const thoughts = response.output.filter((item) => item.type === 'reasoning')
  expect(thoughts.map(({ summary }) => summary.map(({ text }) => text).join(''))).toEqual([
    ...expected.thoughts,
  ])
  expect(response.usage).toEqual({
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 10, cache_write_tokens: 5 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 7 },
    total_tokens: 50,
  })
}

/** The helper adds what it has parsed. */
function withoutParsed(response: object): unknown {
  const isParsed = (name: string): boolean => name.startsWith('parsed') || name.endsWith('_parsed')
  return JSON.parse(
    JSON.stringify(response, (name, value: unknown) => (isParsed(name) ? undefined : value)),
  )
}

describe('the AI SDK with its default model', () => {
  const look = tool({ inputSchema: jsonSchema<{ at: string }>({ type: 'object' }) })
  const tools = { look } as unknown as ToolSet

  function modelOf(name: string): LanguageModel {
    return createOpenAI({ baseURL: baseOf(name), apiKey: 'k' })('m')
  }

  const REASONS: Readonly<Record<string, string>> = {
    tools: 'tool-calls',
    length: 'length',
    refusal: 'content-filter',
  }

  for (const [name, expected] of Object.entries(CASES)) {
    const reason = REASONS[expected.finish.reason] ?? 'stop'
    const asked = { model: modelOf(name), prompt: 'Hi', tools, maxRetries: 0 }

    it(`reads ${name}, whole`, async () => {
      const { text, reasoning, toolCalls, finishReason, totalUsage } = await generateText(asked)
      expect([text, finishReason]).toEqual([expected.spoken, reason])
      expect(reasoning.map((part) => part.text)).toEqual([...expected.thoughts])
      checkCalls(toolCalls, expected)
      expect(totalUsage).toMatchObject(TOLD)
    })

    it(`reads ${name} from a stream`, async () => {
      const errors: unknown[] = []
      const result = streamText({ ...asked, onError: ({ error }) => void errors.push(error) })
      const kinds: string[] = []
      for await (const { type } of result.fullStream) kinds.push(type)
      expect(errors).toEqual([])
      const said = [await result.text, await result.finishReason]
      expect(said).toEqual([expected.spoken, reason])
      const reasoning = await result.reasoning
      expect(reasoning.map((part) => part.text)).toEqual([...expected.thoughts])
      for (const part of reasoning)
        expect(part.providerMetadata?.['openai']?.['reasoningEncryptedContent']).toStartWith('gw1.')
      checkCalls(await result.toolCalls, expected)
      expect(await result.totalUsage).toMatchObject(TOLD)
      expect(kinds).not.toContain('error')
    })
  }

  const TOLD = {
    inputTokens: 30,
    outputTokens: 20,
    totalTokens: 50,
    inputTokenDetails: { cacheReadTokens: 10, cacheWriteTokens: 5 },
    outputTokenDetails: { reasoningTokens: 7 },
  }

  function checkCalls(
    calls: readonly { toolCallId: string; toolName: string; input: unknown }[],
    expected: Case,
  ): void {
    const told = calls.map(({ toolCallId, toolName, input }) => [toolCallId, toolName, input])
    expect(told).toEqual(expected.calls as never)
  }
})
