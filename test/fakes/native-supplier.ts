// Native suppliers as the configuration would describe them, and the tokens of people who are signed in there.
import { nativeResponses } from '../../src/dialects/native-responses/index.ts'
import { Secret } from '../../src/core/secret.ts'
import type { OAuth, Supplier } from '../../src/suppliers/supplier.ts'
import { MARK } from './canary.ts'
import { supplierAt } from './gateway.ts'
import type { FakeRequest } from './supplier.ts'

const PATH = '/native/responses'
/** Of the program, and of nobody who signs in with it. */
export const CLIENT_CANARY = `${MARK}-native-client-secret`

export function nativeSupplierAt(
  origin: string,
  changes: Partial<Supplier> = {},
  oauth: Partial<OAuth> = {},
): Supplier {
  const { models } = supplierAt(origin)
  const [route] = models.values()
  return supplierAt(origin, {
    id: 'native',
    credential: undefined,
    services: [{ dialect: nativeResponses, path: PATH }],
    quirks: { usage: 'always' },
    models: new Map([['native-model', route!]]),
    oauth: {
      grant: 'refresh_token',
      tokenUrl: `${origin}/oauth/token`,
      clientId: 'program',
      clientSecret: new Secret(CLIENT_CANARY),
      clientAuth: 'body',
      format: 'form',
      scope: 'openid offline',
      audience: undefined,
      authorizeUrl: `${origin}/oauth/authorize`,
      authorizeParameters: { prompt: 'login' },
      redirectUrl: undefined,
      deviceUrl: undefined,
      subjectHeader: 'x-account',
      ...oauth,
    },
    ...changes,
  })
}

export function isNative({ head }: FakeRequest): boolean {
  return head.startsWith(`POST ${PATH} `)
}

let count = 0

/** One that stands nowhere else. */
export function createToken(word = 'token'): string {
  count += 1
  return `${MARK}-native-${word}-${count}-${crypto.randomUUID()}`
}

/** A JWT that says this of itself, signed by nobody. */
export function createJwt(claims: object): string {
  const parts = [{ alg: 'none' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  return [...parts, Buffer.from(createToken('jwt')).toString('base64url')].join('.')
}
