// The AI SDK with the adapters by which people reach a gateway.
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  generateText,
  jsonSchema,
  Output,
  RetryError,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from 'ai'
import {
  CITY_SCHEMA,
  WEATHER,
  type Client,
  type Driver,
  type Place,
  type Question,
  type Weather,
} from './driver.ts'

function toPrompt({ text, system, image }: Question): {
  messages: ModelMessage[]
  system?: string
} {
  const parts = [
    { type: 'text' as const, text },
    ...(image === undefined ? [] : [{ type: 'image' as const, image, mediaType: 'image/png' }]),
  ]
  return {
    ...(system !== undefined && { system }),
    messages: [{ role: 'user', content: parts }],
  }
}

function toolsOf(weather: Weather) {
  return {
    [WEATHER.name]: tool({
      description: WEATHER.description,
      inputSchema: jsonSchema<{ readonly city: string }>(WEATHER.schema as never),
      execute: ({ city }) => weather(city),
    }),
  }
}

function connect(model: LanguageModel): Client {
  const common = { model, maxRetries: 0 }
  const steps = { stopWhen: stepCountIs(4) }
  return {
    async ask(question) {
      const { text, usage } = await generateText({ ...common, ...toPrompt(question) })
      return { text, inputTokens: usage.inputTokens, outputTokens: usage.outputTokens }
    },
    async stream(question, onText, signal) {
      const stream = streamText({
        ...common,
        ...toPrompt(question),
        ...(signal !== undefined && { abortSignal: signal }),
        // It would be printed as well as told.
        onError: () => {},
      })
      let text = ''
      for await (const part of stream.fullStream) {
        if (part.type === 'error') throw part.error
        if (part.type === 'abort') throw new Error('aborted')
        if (part.type !== 'text-delta') continue
        text += part.text
        onText(part.text)
      }
      const { inputTokens, outputTokens } = await stream.usage
      return { text, inputTokens, outputTokens }
    },
    async askWithTool(question, weather) {
      const asked = { ...common, ...steps, ...toPrompt(question), tools: toolsOf(weather) }
      return (await generateText(asked)).text
    },
    async streamWithTool(question, weather) {
      const asked = { ...common, ...steps, ...toPrompt(question), tools: toolsOf(weather) }
      const text = await streamText(asked).text
      return text
    },
    async askForCity(question) {
      const schema = jsonSchema(CITY_SCHEMA as never)
      const output = Output.object({ schema, name: 'city' })
      return (await generateText({ ...common, ...toPrompt(question), output })).output
    },
    problemOf(thrown) {
      const last = RetryError.isInstance(thrown) ? thrown.lastError : thrown
      if (APICallError.isInstance(last)) return { status: last.statusCode, message: last.message }
      // An error in the middle of a stream comes as the body of it, or as its text.
      const message = last instanceof Error ? last.message : JSON.stringify(last)
      return { status: undefined, message }
    },
  }
}

export const vercelDrivers: readonly Driver[] = [
  {
    // What nobody has to choose speaks responses.
    name: 'ai with openai',
    language: 'responses',
    connect: ({ url, key, model }: Place) =>
      connect(createOpenAI({ baseURL: `${url}/v1`, apiKey: key })(model)),
  },
  {
    name: 'ai with openai.chat',
    language: 'chat',
    connect: ({ url, key, model }: Place) =>
      connect(createOpenAI({ baseURL: `${url}/v1`, apiKey: key }).chat(model)),
  },
  {
    name: 'ai with openai-compatible',
    language: 'chat',
    connect: ({ url, key, model }: Place) =>
      connect(
        createOpenAICompatible({
          name: 'gateway',
          baseURL: `${url}/v1`,
          apiKey: key,
          includeUsage: true,
          supportsStructuredOutputs: true,
        })(model),
      ),
  },
  {
    name: 'ai with anthropic',
    language: 'messages',
    connect: ({ url, key, model }: Place) =>
      connect(createAnthropic({ baseURL: `${url}/v1`, apiKey: key })(model)),
  },
]
