// Seals what is kept of answers and the tokens of native sign-ins, with a key that is not in the data folder: whoever
// takes the folder has neither. Without a key nothing is kept, and calls go on.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { dirname } from 'node:path'
import type { Secret } from '../core/secret.ts'

/** What is sealed. Each purpose has a key of its own, made of the same secret: neither opens what is the other's. */
export interface Purpose {
  /** Names its key. Under another label nothing opens that was sealed before. */
  readonly label: string
  /** For the log: what is lost where there is no key to seal with. */
  readonly unsealed: string
  /** For the log: what a key that was lost or changed means, and what to do. */
  readonly unopened: (source: string) => string
}

export const KEPT_ANSWERS: Purpose = {
  label: 'inference-gateway kept answers 1',
  unsealed: 'answers under an Idempotency-Key are not kept',
  unopened: (source) =>
    `an answer that was kept under an Idempotency-Key cannot be opened. ${source} is gone or is not what it was sealed with; such answers count as not kept until the old key is back.`,
}

export const NATIVE_TOKENS: Purpose = {
  label: 'inference-gateway native tokens 1',
  unsealed: 'the tokens of native sign-ins can be neither kept nor used',
  unopened: (source) =>
    `the tokens of a native sign-in cannot be opened. ${source} is gone or is not what they were sealed with: put the old key back and start again, or sign in again.`,
}

export interface VaultParts {
  readonly purpose: Purpose
  /** Of the operator; where there is none, the key is in the file. */
  readonly secret: Secret | undefined
  /** Beside the data folder. Made when a key is first needed. */
  readonly file: string
  readonly warn: (text: string) => void
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES
/** The first byte of everything sealed: another way to seal gets another one. */
const VERSION = 1
const OTHERS = 0o077
/** Neither waits for whoever writes to a pipe, nor goes where somebody else points to. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW
/** The base64 of 32 bytes. */
const KEY_TEXT = /^[A-Za-z0-9+/]{43}=$/

export class Vault {
  readonly #purpose: Purpose
  readonly #secret: Secret | undefined
  readonly #file: string
  readonly #warn: VaultParts['warn']
  #key: Uint8Array | undefined
  #isShut = false
  #hasFailed = false

  constructor({ purpose, secret, file, warn }: VaultParts) {
    this.#purpose = purpose
    this.#secret = secret
    this.#file = file
    this.#warn = warn
  }

  /** Throws where a key file is there that must not be used: better at the start than at the first call. */
  check(): void {
    if (this.#secret === undefined) readKey(this.#file)
  }

  /** Whether there is a key to seal with. Makes one where there is none. */
  canSeal(): boolean {
    return this.#findKey(true) !== undefined
  }

  /** What is sealed opens only under the same context. Undefined where there is no key. */
  seal(bytes: Uint8Array, context: string): Uint8Array | undefined {
    const key = this.#findKey(true)
    if (key === undefined) return undefined
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context))
    const body = [cipher.update(bytes), cipher.final()]
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), ...body])
  }

  /** Undefined for what was sealed with another key, under another context, or was changed. */
  open(sealed: Uint8Array, context: string): Uint8Array | undefined {
    const opened = this.#tryOpen(sealed, context)
    if (opened === undefined) this.#tellOnce()
    return opened
  }

  #tryOpen(sealed: Uint8Array, context: string): Uint8Array | undefined {
    const key = this.#findKey(false)
    if (key === undefined || sealed[0] !== VERSION || sealed.length < HEAD_BYTES) return undefined
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
    const tag = sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES)
    try {
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(context))
        .setAuthTag(tag)
      return Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()])
    } catch {
      // The one way in which the cipher says that it is not what was sealed.
      return undefined
    }
  }

  /** Whoever has changed the key, or lost it, should hear of it; once, for there may be much of it. */
  #tellOnce(): void {
    // Why there is no key was told already.
    if (this.#hasFailed || this.#isShut) return
    this.#hasFailed = true
    const source = this.#secret === undefined ? `The key file ${this.#file}` : 'GATEWAY_SECRET_KEY'
    this.#warn(this.#purpose.unopened(source))
  }

  #findKey(mayMake: boolean): Uint8Array | undefined {
    if (this.#key !== undefined || this.#isShut) return this.#key
    const { label, unsealed } = this.#purpose
    try {
      const source = this.#secret?.reveal() ?? readKey(this.#file)
      if (source !== undefined) this.#key = derive(source, label)
      else if (mayMake) this.#key = derive(makeKey(this.#file), label)
    } catch (thrown) {
      // Calls go on without it, so this is told here and to nobody else.
      this.#isShut = true
      this.#warn(
        `${unsealed}: ${describe(thrown)} Set GATEWAY_SECRET_KEY, or let this user write ${dirname(this.#file)}, and start again.`,
      )
    }
    return this.#key
  }
}

function derive(source: string | Uint8Array, label: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', source, '', label, KEY_BYTES))
}

/** Undefined where there is no such file. */
function readKey(file: string): Uint8Array | undefined {
  const opened = openIfThere(file)
  if (opened === undefined) return undefined
  try {
    checkKeeping(file, fstatSync(opened))
    const text = readFileSync(opened, 'utf8').trim()
    if (KEY_TEXT.test(text)) return Buffer.from(text, 'base64')
    throw new Error(
      `The key file ${file} holds no key. Put back the right one, or remove it: then another is made, and what was sealed with the old one is lost, which is answers kept under an Idempotency-Key and native sign-ins.`,
    )
  } finally {
    closeSync(opened)
  }
}

/** Whoever can write the folder could put a key there that they know: only our own counts, or that of root. */
function checkKeeping(file: string, stats: Stats): void {
  if (!stats.isFile())
    throw new Error(
      `${file} is in the place of the key file and is no file. Remove it, or set GATEWAY_SECRET_KEY, which needs none.`,
    )
  const user = process.getuid?.()
  if (user !== undefined && stats.uid !== user && stats.uid !== 0)
    throw new Error(
      `The key file ${file} belongs to another user (${stats.uid}), who knows what is in it. If you trust it, run \`chown ${user} ${file}\`; if not, remove it, and another is made.`,
    )
  if ((stats.mode & OTHERS) !== 0)
    throw new Error(
      `The key file ${file} can be read by other users of this machine. Run \`chmod 600 ${file}\`.`,
    )
}

function openIfThere(file: string): number | undefined {
  try {
    return openSync(file, READ)
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === 'ELOOP')
      throw new Error(
        `The key file ${file} is a symbolic link, which is not followed. Put the file itself there; where secrets are mounted as links, as in containers, set GATEWAY_SECRET_KEY instead.`,
        { cause: thrown },
      )
    throw new Error(`The key file ${file} cannot be read (${code}).`, { cause: thrown })
  }
}

/** Whole or not at all, and never over another: of two processes at once, both take what the first has made. */
function makeKey(file: string): Uint8Array {
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  try {
    write(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`)
    try {
      linkSync(draft, file)
    } catch (thrown) {
      if (codeOf(thrown) !== 'EEXIST') throw thrown
    } finally {
      unlinkSync(draft)
    }
  } catch (thrown) {
    throw new Error(`The key file ${file} cannot be made (${codeOf(thrown)}).`, { cause: thrown })
  }
  const made = readKey(file)
  if (made === undefined) throw new Error(`The key file ${file} was removed again.`)
  return made
}

function write(file: string, text: string): void {
  const opened = openSync(file, 'wx', 0o600)
  try {
    writeSync(opened, text)
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason'
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
