// The roster of the kinds of suppliers that a configuration may name.
import { azure } from './azure.ts'
import { compatible } from './compatible.ts'
import type { Kind } from './kind.ts'

export const kinds: readonly Kind[] = [...compatible, azure]

export const kindIds: readonly string[] = kinds.map(({ id }) => id)
