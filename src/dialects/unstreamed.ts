// For languages whose answers are never streamed as events: what the relay of a stream would ask for.
import type { Dialect } from './dialect.ts'

export const unstreamed: Pick<Dialect['relay'], 'watch' | 'cutOff'> = {
  watch: () => refuse(),
  cutOff: () => refuse(),
}

function refuse(): never {
  throw new RangeError('no events are streamed in this language')
}
