// Names for records and calls. Every id is random or time-ordered and says by its prefix what it names;
// secrets are 256 random bits behind a prefix and are stored as their SHA-256 alone.

export const ROOT_PREFIX = 'svc_'
export const MANAGED_PREFIX = 'svc-sk-'

export type SecretPrefix = typeof ROOT_PREFIX | typeof MANAGED_PREFIX

/** Time-ordered as text, too, so that ids sort as the calls came. */
export function createRequestId(): string {
  const id = Bun.randomUUIDv7('hex')
  return `req_${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 18)}${id.slice(19, 23)}${id.slice(24)}`
}

export type IdPrefix = 'key' | 'tok' | 'acc' | 'org' | 'usr' | 'prj' | 'team' | 'wal' | 'nid'

export function createId(prefix: IdPrefix): string {
  return `${prefix}_${randomText(16)}`
}

export function createSecret(prefix: SecretPrefix): string {
  return prefix + randomText(32)
}

/** The one form in which a secret is kept and looked up. */
export function hashSecret(secret: string): string {
  return Bun.SHA256.hash(secret, 'base64')
}

function randomText(bytes: number): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString('base64url')
}
