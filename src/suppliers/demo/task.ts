// What the demo does beside chats, as its server sees it: a request that was read, and the whole answer to it.
import type { Json } from './json.ts'
import type { Behaviour } from './models.ts'

export interface TaskAnswer {
  readonly body: string | Uint8Array
  readonly contentType: string
}

export function answerJson(json: Json): TaskAnswer {
  return { body: JSON.stringify(json), contentType: 'application/json' }
}

export interface TaskRequest {
  readonly model: string
  compose(behaviour: Behaviour): TaskAnswer
}
