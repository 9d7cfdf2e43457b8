// The official SDK of responses, in both versions in use.
import type OpenAI from 'openai'
import { cityOf, CITY_SCHEMA, WEATHER, type Client, type Driver, type Question } from './driver.ts'
import { SDKS, type Sdk } from './house.ts'

type Answer = OpenAI.Responses.Response
type Item = OpenAI.Responses.ResponseInputItem

function toInput({ text, image }: Question): Item[] {
  const picture = {
    type: 'input_image' as const,
    detail: 'auto' as const,
    image_url: `data:image/png;base64,${image}`,
  }
  const content = [{ type: 'input_text' as const, text }, picture]
  return [{ role: 'user', content: image === undefined ? text : content }]
}

/** What a question asks beside what it says. */
function besideOf({ system }: Question): { instructions?: string } {
  return system === undefined ? {} : { instructions: system }
}

const TOOL: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: WEATHER.name,
  description: WEATHER.description,
  parameters: WEATHER.schema,
  strict: true,
}

/** A failure in the middle is told as a state of the answer, and not thrown. */
function unlessFailed<Each extends Answer>(answer: Each): Each {
  if (answer.status === 'failed') throw new Error(answer.error?.message ?? 'failed')
  return answer
}

function toldBy({ output_text: text, usage }: Answer) {
  return { text, inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens }
}

function connect(Sdk: Sdk, baseURL: string, apiKey: string, model: string): Client {
  const sdk = new Sdk({ baseURL, apiKey, logLevel: 'off', maxRetries: 0 })
  const run = async (
    question: Question,
    weather: (city: string) => string,
    say: (input: Item[]) => Promise<Answer>,
  ): Promise<string> => {
    const input = toInput(question)
    for (;;) {
      const { output, output_text: text } = await say(input)
      const calls = output.filter((item) => item.type === 'function_call')
      if (calls.length === 0) return text
      input.push(...(output as Item[]))
      for (const { call_id, arguments: given } of calls) {
        const told = weather(cityOf(JSON.parse(given)))
        input.push({ type: 'function_call_output', call_id, output: told })
      }
    }
  }
  return {
    ask: async (question) =>
      toldBy(
        await sdk.responses.create({
          model,
          // Who shows nothing sends the text as it is.
          input: question.image === undefined ? question.text : toInput(question),
          ...besideOf(question),
        }),
      ),
    async stream(question, onText, signal) {
      const body = { model, input: toInput(question), ...besideOf(question) }
      const stream = sdk.responses.stream(body, signal === undefined ? {} : { signal })
      stream.on('response.output_text.delta', ({ delta }) => onText(delta))
      return toldBy(unlessFailed(await stream.finalResponse()))
    },
    askWithTool: (question, weather) =>
      run(question, weather, (input) => sdk.responses.create({ model, input, tools: [TOOL] })),
    streamWithTool: (question, weather) =>
      run(question, weather, (input) =>
        sdk.responses.stream({ model, input, tools: [TOOL] }).finalResponse(),
      ),
    async askForCity(question) {
      const answer = await sdk.responses.parse({
        model,
        input: toInput(question),
        text: {
          format: { type: 'json_schema', name: 'city', strict: true, schema: CITY_SCHEMA },
        },
      })
      return answer.output_parsed
    },
    problemOf: (thrown) => {
      const { status, message } = thrown as { readonly status?: number; readonly message: string }
      return { status, message }
    },
  }
}

export const responsesDrivers: readonly Driver[] = SDKS.map(([name, Sdk]) => ({
  name: `${name} by responses`,
  language: 'responses',
  connect: ({ url, key, model }) => connect(Sdk, `${url}/v1`, key, model),
}))
