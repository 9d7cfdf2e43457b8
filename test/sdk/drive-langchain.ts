// LangChain by its two chat models, the one of them in both languages that it has.
import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import {
  AIMessageChunk,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type AIMessage,
  type BaseMessage,
} from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import {
  cityOf,
  CITY_SCHEMA,
  WEATHER,
  type Client,
  type Driver,
  type Place,
  type Question,
  type Told,
  type Weather,
} from './driver.ts'

function toMessages({ text, system, image }: Question): BaseMessage[] {
  const content = [
    { type: 'text', text },
    { type: 'image_url', image_url: { url: `data:image/png;base64,${image}` } },
  ]
  return [
    ...(system === undefined ? [] : [new SystemMessage(system)]),
    new HumanMessage(image === undefined ? text : { content }),
  ]
}

const TOOL = {
  type: 'function',
  function: {
    name: WEATHER.name,
    description: WEATHER.description,
    parameters: WEATHER.schema,
  },
} as const

type Say = (messages: BaseMessage[]) => Promise<AIMessage | AIMessageChunk>

async function run(question: Question, weather: Weather, say: Say): Promise<string> {
  const messages = toMessages(question)
  for (;;) {
    const answer = await say(messages)
    if ((answer.tool_calls ?? []).length === 0) return answer.text
    messages.push(answer)
    for (const { id, args } of answer.tool_calls ?? [])
      messages.push(new ToolMessage({ tool_call_id: id ?? '', content: weather(cityOf(args)) }))
  }
}

async function joinAll(chunks: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined
  for await (const chunk of chunks) whole = whole === undefined ? chunk : whole.concat(chunk)
  return whole ?? new AIMessageChunk('')
}

interface UsageMetadata {
  readonly input_tokens: number
  readonly output_tokens: number
}

function toldBy(message: AIMessage | AIMessageChunk): Told {
  const usage = message.usage_metadata as UsageMetadata | undefined
  return {
    text: message.text,
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
  }
}

function connect(model: BaseChatModel): Client {
  const withTool = model.bindTools!([TOOL])
  const askForCity = model.withStructuredOutput(CITY_SCHEMA as never, {
    name: 'city',
    method: 'jsonSchema',
  })
  return {
    ask: async (question) => toldBy(await model.invoke(toMessages(question))),
    async stream(question, onText, signal) {
      const options = signal === undefined ? {} : { signal }
      const chunks = await model.stream(toMessages(question), options)
      const tell = async function* (): AsyncGenerator<AIMessageChunk> {
        for await (const chunk of chunks) {
          if (chunk.text !== '') onText(chunk.text)
          yield chunk
        }
      }
      return toldBy(await joinAll(tell()))
    },
    askWithTool: (question, weather) =>
      run(question, weather, (messages) => withTool.invoke(messages)),
    streamWithTool: (question, weather) =>
      run(question, weather, async (messages) => joinAll(await withTool.stream(messages))),
    askForCity: (question) => askForCity.invoke(toMessages(question)),
    problemOf(thrown) {
      const { status, message } = thrown as { readonly status?: number; readonly message: string }
      return { status, message }
    },
  }
}

function chatOpenAI({ url, key, model }: Place, useResponsesApi: boolean): ChatOpenAI {
  return new ChatOpenAI({
    model,
    apiKey: key,
    maxRetries: 0,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1`, logLevel: 'off' },
  })
}

export const langchainDrivers: readonly Driver[] = [
  {
    name: 'ChatOpenAI',
    language: 'chat',
    connect: (place) => connect(chatOpenAI(place, false)),
  },
  {
    name: 'ChatOpenAI by responses',
    language: 'responses',
    isDeaf: true,
    connect: (place) => connect(chatOpenAI(place, true)),
  },
  {
    name: 'ChatAnthropic',
    language: 'messages',
    connect: ({ url, key, model }) =>
      connect(
        new ChatAnthropic({
          model,
          apiKey: key,
          anthropicApiUrl: url,
          maxTokens: 200,
          maxRetries: 0,
          clientOptions: { logLevel: 'off' },
        }),
      ),
  },
]
