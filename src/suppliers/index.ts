// The roster of the kinds of suppliers that a configuration may name.
import { azure } from './azure.ts'
import { compatible } from './compatible.ts'
import type { Kind } from './kind.ts'
import { native } from './native.ts'

/** Those that are called by a credential. */
export const kinds: readonly Kind[] = [...compatible, azure]

/** Those that are called by sign-ins alone. */
export const nativeKinds: readonly Kind[] = native

export const kindIds: readonly string[] = [...kinds, ...nativeKinds].map(({ id }) => id)
