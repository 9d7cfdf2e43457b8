// The contract of a load generator: so many callers, each asking again as soon as it has its answer, or so
// many calls a second whatever becomes of them; and every answer checked.

export type LoadId = 'wrk' | 'own'

export interface Order {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** A file that is sent in place of the body, by the own load alone. */
  readonly file?: string
  readonly answer: Answer
  readonly callers: number
  readonly seconds: number
  /** Calls begin at this pace, by the own load alone; without it as fast as the callers get their answers. */
  readonly callsPerSecond?: number
}

export interface Answer {
  readonly text: string
  /** The shape is enough, for peers that print an answer anew. */
  readonly isLoose: boolean
  /** The answer has each of these and may be anything else, for one that is made anew; by the own load alone. */
  readonly includes?: readonly string[]
  /** The answer has these bytes and no others, by their SHA-256: for what is no text; by the own load alone. */
  readonly digest?: string
}

export interface Tally {
  readonly calls: number
  readonly failed: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** What was wrong with the first answer that was. */
  readonly complaint: string
}

export interface Load {
  readonly id: LoadId
  run(order: Order): Promise<Tally>
}
