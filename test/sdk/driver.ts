// What every client library can be made to do, whatever it calls it. Nothing of a library is changed but the address
// that it is given and how often it tries again by itself.
export interface Question {
  readonly text: string
  readonly system?: string
  /** A picture as base64, of the type image/png. */
  readonly image?: string
}

export interface Told {
  readonly text: string
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
}

/** What a program can read of an error. */
export interface Problem {
  readonly status: number | undefined
  readonly message: string
}

/** The one tool of the tests: tells the weather of a city. */
export type Weather = (city: string) => string

export interface Client {
  ask(question: Question): Promise<Told>
  /** Tells each piece of text as it comes. */
  stream(question: Question, onText: (text: string) => void, signal?: AbortSignal): Promise<Told>
  /** Lets the model call the tool, and answers with what it says at last. */
  askWithTool(question: Question, weather: Weather): Promise<string>
  streamWithTool(question: Question, weather: Weather): Promise<string>
  /** An answer of the shape `CITY_SCHEMA`, parsed by the library. */
  askForCity(question: Question): Promise<unknown>
  /** What it is rejected with. */
  problemOf(thrown: unknown): Problem
}

export interface Place {
  /** The gateway's, without any path. */
  readonly url: string
  readonly key: string
  readonly model: string
}

export interface Driver {
  readonly name: string
  /** The language that it speaks. */
  readonly language: 'chat' | 'messages' | 'responses'
  /** The library takes a stream that has failed for one that has ended, whoever it talks with. */
  readonly isDeaf?: true
  connect(place: Place): Client
}

export const WEATHER = {
  name: 'weather',
  description: 'Tells the weather of a city',
  schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
} as const

export const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'number' } },
  required: ['city', 'people'],
  additionalProperties: false,
} as const

/** What the model has put into a call of the tool. */
export function cityOf(input: unknown): string {
  return (input as { readonly city: string }).city
}
