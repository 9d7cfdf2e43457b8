// The official SDK of messages, in both versions in use.
import Anthropic from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-0'
import { cityOf, CITY_SCHEMA, WEATHER, type Client, type Driver, type Question } from './driver.ts'

type Sdk = typeof Anthropic
type Message = Anthropic.MessageParam

/** The older version is driven through the newer one's types: their calls are spelled alike. */
const SDKS: readonly (readonly [string, Sdk])[] = [
  ['@anthropic-ai/sdk 1', Anthropic],
  ['@anthropic-ai/sdk 0', Anthropic0 as unknown as Sdk],
]

function toBody({ text, system, image }: Question): { messages: Message[]; system?: string } {
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: image ?? '' }
  const content = [
    { type: 'text' as const, text },
    { type: 'image' as const, source },
  ]
  return {
    ...(system !== undefined && { system }),
    messages: [{ role: 'user', content: image === undefined ? text : content }],
  }
}

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

const TOOL: Anthropic.Tool = {
  name: WEATHER.name,
  description: WEATHER.description,
  input_schema: { ...WEATHER.schema, required: [...WEATHER.schema.required] },
}

function connect(Sdk: Sdk, baseURL: string, apiKey: string, model: string): Client {
  const sdk = new Sdk({ baseURL, apiKey, logLevel: 'off', maxRetries: 0 })
  const common = { model, max_tokens: 200 }
  const toldBy = (message: Anthropic.Message) => ({
    text: textOf(message),
    inputTokens: message.usage.input_tokens,
    outputTokens: message.usage.output_tokens,
  })
  const run = async (
    question: Question,
    weather: (city: string) => string,
    say: (messages: Message[]) => Promise<Anthropic.Message>,
  ): Promise<string> => {
    const { messages } = toBody(question)
    for (;;) {
      const answer = await say(messages)
      if (answer.stop_reason !== 'tool_use') return textOf(answer)
      const results = answer.content.flatMap((block) =>
        block.type === 'tool_use'
          ? {
              type: 'tool_result' as const,
              tool_use_id: block.id,
              content: weather(cityOf(block.input)),
            }
          : [],
      )
      messages.push(
        { role: 'assistant', content: answer.content },
        { role: 'user', content: results },
      )
    }
  }
  return {
    ask: async (question) => toldBy(await sdk.messages.create({ ...common, ...toBody(question) })),
    async stream(question, onText, signal) {
      const options = signal === undefined ? {} : { signal }
      const stream = sdk.messages.stream({ ...common, ...toBody(question) }, options)
      stream.on('text', (text) => onText(text))
      return toldBy(await stream.finalMessage())
    },
    askWithTool: (question, weather) =>
      run(question, weather, (messages) =>
        sdk.messages.create({ ...common, messages, tools: [TOOL] }),
      ),
    streamWithTool: (question, weather) =>
      run(question, weather, (messages) =>
        sdk.messages.stream({ ...common, messages, tools: [TOOL] }).finalMessage(),
      ),
    async askForCity(question) {
      const format = { type: 'json_schema' as const, schema: CITY_SCHEMA }
      const body = { ...common, ...toBody(question), output_config: { format } }
      return JSON.parse(textOf(await sdk.messages.create(body)))
    },
    problemOf: (thrown) => {
      const { status, message } = thrown as { readonly status?: number; readonly message: string }
      return { status, message }
    },
  }
}

export const anthropicDrivers: readonly Driver[] = SDKS.map(([name, Sdk]) => ({
  name,
  language: 'messages',
  connect: ({ url, key, model }) => connect(Sdk, url, key, model),
}))
