// The official SDK of chat completions, in both versions in use.
import type OpenAI from 'openai'
import { cityOf, CITY_SCHEMA, WEATHER, type Client, type Driver, type Question } from './driver.ts'
import { SDKS, type Sdk } from './house.ts'

type Message = OpenAI.Chat.ChatCompletionMessageParam

function toMessages({ text, system, image }: Question): Message[] {
  const url = `data:image/png;base64,${image}`
  const content = [
    { type: 'text' as const, text },
    { type: 'image_url' as const, image_url: { url } },
  ]
  return [
    ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
    { role: 'user', content: image === undefined ? text : content },
  ]
}

const TOOL: OpenAI.Chat.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: WEATHER.name,
    description: WEATHER.description,
    parameters: WEATHER.schema,
  },
}

function connect(Sdk: Sdk, baseURL: string, apiKey: string, model: string): Client {
  const sdk = new Sdk({ baseURL, apiKey, logLevel: 'off', maxRetries: 0 })
  const toldBy = ({ choices, usage }: OpenAI.Chat.ChatCompletion) => ({
    text: choices[0]?.message.content ?? '',
    inputTokens: usage?.prompt_tokens,
    outputTokens: usage?.completion_tokens,
  })
  const create = (messages: Message[]) =>
    sdk.chat.completions.create({ model, messages, tools: [TOOL] })
  const run = async (
    question: Question,
    weather: (city: string) => string,
    say: (messages: Message[]) => Promise<OpenAI.Chat.ChatCompletion>,
  ): Promise<string> => {
    const messages = toMessages(question)
    for (;;) {
      const { choices } = await say(messages)
      const { message } = choices[0]!
      if (choices[0]!.finish_reason !== 'tool_calls') return message.content ?? ''
      messages.push(message)
      for (const call of message.tool_calls ?? []) {
        if (call.type !== 'function') continue
        const content = weather(cityOf(JSON.parse(call.function.arguments)))
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
    }
  }
  return {
    ask: async (question) =>
      toldBy(await sdk.chat.completions.create({ model, messages: toMessages(question) })),
    async stream(question, onText, signal) {
      const body = {
        model,
        messages: toMessages(question),
        stream_options: { include_usage: true },
      }
      const stream = sdk.chat.completions.stream(body, signal === undefined ? {} : { signal })
      stream.on('content', onText)
      return toldBy(await stream.finalChatCompletion())
    },
    askWithTool: (question, weather) => run(question, weather, create),
    streamWithTool: (question, weather) =>
      run(question, weather, (messages) =>
        sdk.chat.completions.stream({ model, messages, tools: [TOOL] }).finalChatCompletion(),
      ),
    async askForCity(question) {
      const { choices } = await sdk.chat.completions.parse({
        model,
        messages: toMessages(question),
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'city', strict: true, schema: CITY_SCHEMA },
        },
      })
      return choices[0]?.message.parsed
    },
    problemOf: (thrown) => {
      const { status, message } = thrown as { readonly status?: number; readonly message: string }
      return { status, message }
    },
  }
}

export const openaiDrivers: readonly Driver[] = SDKS.map(([name, Sdk]) => ({
  name,
  language: 'chat',
  connect: ({ url, key, model }) => connect(Sdk, `${url}/v1`, key, model),
}))
