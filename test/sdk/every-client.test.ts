// Every client that people use, in front of a supplier of every language: what it does with one it does with the
// others. The whole table is run, so that a new client or a new language is a row.
import { afterEach, describe, expect, it } from 'bun:test'
import { ROOT_KEY, startGateway } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import type { Script } from '../fakes/supplier.ts'
import { anthropicDrivers } from './drive-anthropic.ts'
import { langchainDrivers } from './drive-langchain.ts'
import { openaiDrivers } from './drive-openai.ts'
import { responsesDrivers } from './drive-responses.ts'
import { vercelDrivers } from './drive-vercel.ts'
import type { Client, Driver, Problem } from './driver.ts'
import { rejection } from './house.ts'
import {
  beginTo,
  failHalfway,
  openStage,
  play,
  refuse,
  STYLES,
  type Answer,
  type Asked,
  type Stage,
  type Style,
} from './stage.ts'

const DRIVERS: readonly Driver[] = [
  ...openaiDrivers,
  ...responsesDrivers,
  ...anthropicDrivers,
  ...vercelDrivers,
  ...langchainDrivers,
]

const PAIRS = DRIVERS.flatMap((driver) =>
  STYLES.map((style): [string, Style, Driver] => [driver.name, style, driver]),
)

/** One point, which is what a picture takes. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const HELLO = { text: 'Hello' }

afterEach(closeStreet)

type House = Stage & { readonly client: Client }

async function house(driver: Driver, style: Style, script: Script): Promise<House> {
  const stage = await openStage(style, script)
  const { url } = stage.gateway
  return { ...stage, client: driver.connect({ url, key: ROOT_KEY, model: 'test-model' }) }
}

async function problemOf(client: Client, work: Promise<unknown>): Promise<Problem> {
  return client.problemOf(await rejection(work))
}

function bothWays(client: Client): readonly (() => Promise<unknown>)[] {
  return [() => client.ask(HELLO), () => client.stream(HELLO, () => {})]
}

/** Asks for the weather first, and tells of it when it knows it. */
function weatherman({ results }: Asked): Answer {
  const [result] = results
  if (result !== undefined) return `They say: ${result.text}`
  return { id: 'call_1', name: 'weather', input: { city: 'Köln "am" Rhein' } }
}

describe.each(PAIRS)('%s in front of a supplier of %s', (_name, style, driver) => {
  it('gets an answer, whole and streamed, with what it has used', async () => {
    const { client, asked } = await house(
      driver,
      style,
      play(style, () => 'Grüße \u{1f600}, all of you'),
    )
    const whole = await client.ask({ ...HELLO, system: 'Be kind.' })
    const pieces: string[] = []
    const streamed = await client.stream({ ...HELLO, system: 'Be kind.' }, (text) =>
      pieces.push(text),
    )
    expect(whole.text).toBe('Grüße \u{1f600}, all of you')
    expect(streamed.text).toBe(whole.text)
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join('')).toBe(whole.text)
    for (const { inputTokens, outputTokens } of [whole, streamed]) {
      expect(inputTokens).toBeGreaterThan(0)
      expect(outputTokens).toBe(7)
    }
    expect(asked().map(({ stream, system }) => [stream, system.trim()])).toEqual([
      [false, 'Be kind.'],
      [true, 'Be kind.'],
    ])
  })

  it.each(['whole', 'streamed'])('calls a tool and hands its result back, %s', async (form) => {
    const { client, asked } = await house(driver, style, play(style, weatherman))
    const cities: string[] = []
    const weather = (city: string): string => {
      cities.push(city)
      return 'It rains.'
    }
    const text =
      form === 'whole'
        ? await client.askWithTool(HELLO, weather)
        : await client.streamWithTool(HELLO, weather)
    expect(text).toBe('They say: It rains.')
    expect(cities).toEqual(['Köln "am" Rhein'])
    const [first, second] = asked()
    expect(first).toMatchObject({ tools: ['weather'], calls: [], results: [] })
    const results = [{ id: 'call_1', text: 'It rains.' }]
    expect(second).toMatchObject({ tools: ['weather'], calls: ['call_1'], results })
  })

  it('shows a picture', async () => {
    const { client, asked } = await house(
      driver,
      style,
      play(style, () => 'A point.'),
    )
    expect((await client.ask({ ...HELLO, image: PICTURE })).text).toBe('A point.')
    expect(asked()[0]?.images).toEqual([`data:image/png;base64,${PICTURE}`])
  })

  it('gets an answer of the shape that it asks for', async () => {
    const city = { city: 'Köln', people: 1_024_621 }
    const { client, asked } = await house(
      driver,
      style,
      // Some ask by a tool that has to be called.
      play(style, ({ isForced, tools }) =>
        isForced ? { id: 'call_1', name: tools[0]!, input: city } : JSON.stringify(city),
      ),
    )
    expect(await client.askForCity(HELLO)).toEqual(city)
    const [first] = asked()
    expect(first!.isForced || first!.schema !== undefined).toBe(true)
  })

  it('reads why a supplier refuses, by its own words', async () => {
    const { client, supplier } = await house(driver, style, refuse(style, 'size: too blue'))
    for (const work of bothWays(client)) {
      const { status, message } = await problemOf(client, work())
      expect(status).toBe(400)
      expect(message).toContain('size: too blue')
    }
    expect(supplier.requests).toHaveLength(2)
  })

  it('hears of an error in the middle of a stream, after what came before it', async () => {
    const { client } = await house(driver, style, failHalfway(style))
    const pieces: string[] = []
    const work = client.stream(HELLO, (text) => pieces.push(text))
    if (driver.isDeaf === true) await work
    else expect((await problemOf(client, work)).message).toContain('Overloaded')
    expect(pieces.join('')).toBe('half')
  })

  it('ends the supplier’s work when it leaves', async () => {
    const { client, supplier } = await house(driver, style, (_request, reply) => {
      beginTo(style, reply)
    })
    const leaving = new AbortController()
    const pieces: string[] = []
    const leave = (text: string): void => {
      pieces.push(text)
      leaving.abort()
    }
    await rejection(client.stream(HELLO, leave, leaving.signal))
    expect(pieces).toEqual(['half'])
    const { closed } = await supplier.request(0)
    await closed
  })
})

describe.each(DRIVERS.map((driver): [string, Driver] => [driver.name, driver]))(
  '%s',
  (_name, driver) => {
    it('reads what the gateway itself refuses', async () => {
      const gateway = tidy(await startGateway())
      const { key: poor } = await gateway.createKey({ name: 'k', budget_limit: 0.0000001 })
      const cases = [
        ['svc_nope', `demo/${driver.language}`, 401, 'invalid_api_key'],
        [poor, `demo/${driver.language}`, 402, 'budget_exceeded'],
        [ROOT_KEY, 'nope', 404, 'model_not_found'],
      ] as const
      for (const [key, model, expected, code] of cases) {
        const client = driver.connect({ url: gateway.url, key, model })
        for (const work of bothWays(client)) {
          const { status, message } = await problemOf(client, work())
          expect(status).toBe(expected)
          expect(message).toContain(code)
        }
      }
    })

    it.each(['demo/chat', 'demo/messages', 'demo/responses'])('talks with %s', async (model) => {
      const { url } = tidy(await startGateway())
      const client = driver.connect({ url, key: ROOT_KEY, model })
      const exactly = { text: 'Reply with exactly: one two three' }
      expect((await client.ask(exactly)).text).toBe('one two three')
      expect((await client.stream(exactly, () => {})).text).toBe('one two three')
    })
  },
)
