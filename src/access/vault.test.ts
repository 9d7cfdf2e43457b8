// What is sealed opens with the right key and under the right name only; the key itself is made once, is nobody
// else's to read, and is missed by nobody who can do without.
import { afterEach, beforeEach, expect, it } from 'bun:test'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '../core/secret.ts'
import { KEPT_ANSWERS, NATIVE_TOKENS, Vault, type Purpose } from './vault.ts'

const TEXT = new TextEncoder().encode('an answer that nobody else may read')
const SECRET = new Secret('s'.repeat(32))
/** The text, sealed with this secret before there were purposes. */
const SEALED_BEFORE =
  'AWSH8boXsStMLdT+rTvdXk5JUY5nNhX79sZ1vMHxxb7D1W4s6Bkuiq3UstT4cEhiL+iF27HHXFOflTbeTvS6gQ=='

let folder = ''
let warnings: string[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-vault-'))
  warnings = []
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function createVault(secret?: Secret, file = join(folder, 'gateway.key')): Vault {
  return createVaultFor(KEPT_ANSWERS, secret, file)
}

function createVaultFor(
  purpose: Purpose,
  secret?: Secret,
  file = join(folder, 'gateway.key'),
): Vault {
  return new Vault({ purpose, secret, file, warn: (text) => warnings.push(text) })
}

it('opens what it has sealed, and nobody reads it in between', () => {
  const vault = createVault(SECRET)
  const sealed = vault.seal(TEXT, 'claim request')!
  expect(Buffer.from(sealed).includes('answer')).toBe(false)
  expect(vault.open(sealed, 'claim request')).toEqual(Buffer.from(TEXT))
  expect(vault.seal(TEXT, 'claim request')).not.toEqual(sealed)
})

it('opens nothing that belongs to another request, was changed or was sealed with another key', () => {
  const sealed = createVault(SECRET).seal(TEXT, 'claim request')!
  expect(createVault(SECRET).open(sealed, 'claim other')).toBeUndefined()
  expect(createVault(new Secret('t'.repeat(32))).open(sealed, 'claim request')).toBeUndefined()
  for (const at of [0, 1, 13, sealed.length - 1]) {
    const changed = Uint8Array.from(sealed)
    changed[at]! ^= 1
    expect(createVault(SECRET).open(changed, 'claim request')).toBeUndefined()
  }
  expect(createVault(SECRET).open(sealed.subarray(0, 20), 'claim request')).toBeUndefined()
})

it('says once that what was kept was sealed with another key, or that the key is gone', () => {
  const sealed = createVault(SECRET).seal(TEXT, 'claim request')!
  createVault(SECRET).open(sealed, 'claim request')
  expect(warnings).toEqual([])
  const other = createVault(new Secret('t'.repeat(32)))
  for (let index = 0; index < 3; index++) other.open(sealed, 'claim request')
  expect(warnings).toEqual([expect.stringContaining('GATEWAY_SECRET_KEY is gone or is not')])
  createVault().open(sealed, 'claim request')
  expect(warnings[1]).toContain(`The key file ${join(folder, 'gateway.key')} is gone or is not`)
})

it('opens what earlier versions have sealed', () => {
  const bytes = Buffer.from(SEALED_BEFORE, 'base64')
  expect(createVault(SECRET).open(bytes, 'claim request')).toEqual(Buffer.from(TEXT))
})

it('opens nothing that was sealed for another purpose, with the key of the operator or with the file', () => {
  for (const secret of [SECRET, undefined]) {
    const [answers, tokens] = [KEPT_ANSWERS, NATIVE_TOKENS].map((purpose) =>
      createVaultFor(purpose, secret),
    ) as [Vault, Vault]
    const sealed = { answer: answers.seal(TEXT, 'one')!, token: tokens.seal(TEXT, 'one')! }
    expect(answers.open(sealed.answer, 'one')).toEqual(Buffer.from(TEXT))
    expect(tokens.open(sealed.token, 'one')).toEqual(Buffer.from(TEXT))
    expect(answers.open(sealed.token, 'one')).toBeUndefined()
    expect(tokens.open(sealed.answer, 'one')).toBeUndefined()
  }
})

it('says of tokens what it means to have lost the key, and what to do', () => {
  const sealed = createVaultFor(NATIVE_TOKENS, SECRET).seal(TEXT, 'identity')!
  const other = createVaultFor(NATIVE_TOKENS, new Secret('t'.repeat(32)))
  for (let index = 0; index < 3; index++) other.open(sealed, 'identity')
  expect(warnings).toEqual([expect.stringMatching(/native sign-in .* put the old key back/)])
  writeFileSync(join(folder, 'file'), '')
  const keyless = createVaultFor(NATIVE_TOKENS, undefined, join(folder, 'file/gateway.key'))
  expect(keyless.seal(TEXT, 'identity')).toBeUndefined()
  expect(warnings[1]).toStartWith('the tokens of native sign-ins can be neither kept nor used: ')
  expect(warnings[1]).toContain('Set GATEWAY_SECRET_KEY')
})

it('makes a key file when it first needs one, for this user alone', () => {
  const vault = createVault()
  vault.check()
  expect(vault.open(TEXT, 'claim request')).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
  const sealed = vault.seal(TEXT, 'claim request')!
  expect(readdirSync(folder)).toEqual(['gateway.key'])
  expect(statSync(join(folder, 'gateway.key')).mode & 0o777).toBe(0o600)
  expect(createVault().open(sealed, 'claim request')).toEqual(Buffer.from(TEXT))
})

it('needs no file where the operator brings the key', () => {
  createVault(SECRET).seal(TEXT, 'claim request')
  expect(existsSync(join(folder, 'gateway.key'))).toBe(false)
})

it('leaves the key alone that another process has made in the same moment', async () => {
  const program = join(folder, 'make.ts')
  writeFileSync(
    program,
    `import { KEPT_ANSWERS, Vault } from ${JSON.stringify(join(import.meta.dir, 'vault.ts'))}
     const purpose = KEPT_ANSWERS
     const vault = new Vault({ purpose, secret: undefined, file: process.argv[2]!, warn: console.error })
     console.log(Buffer.from(vault.seal(new Uint8Array([7]), 'c')!).toString('base64'))`,
  )
  const file = join(folder, 'gateway.key')
  const texts = await Promise.all(
    Array.from({ length: 6 }, () =>
      new Response(Bun.spawn([process.execPath, program, file]).stdout).text(),
    ),
  )
  for (const text of texts)
    expect(createVault().open(Buffer.from(text.trim(), 'base64'), 'c')).toEqual(Buffer.of(7))
  expect(readdirSync(folder).toSorted()).toEqual(['gateway.key', 'make.ts'])
})

it('refuses a key file that others can read, and says what to do', () => {
  createVault().canSeal()
  const file = join(folder, 'gateway.key')
  const text = readFileSync(file, 'utf8')
  chmodSync(file, 0o640)
  expect(() => createVault().check()).toThrow(`chmod 600 ${file}`)
  expect(createVault().canSeal()).toBe(false)
  expect(readFileSync(file, 'utf8')).toBe(text)
})

it('refuses a key file that holds no key, and leaves it as it is', () => {
  const file = join(folder, 'gateway.key')
  writeFileSync(file, 'half a ke', { mode: 0o600 })
  expect(() => createVault().check()).toThrow('holds no key')
  expect(readFileSync(file, 'utf8')).toBe('half a ke')
})

it('goes on without a key where none can be made, and says so once', () => {
  writeFileSync(join(folder, 'file'), '')
  const vault = createVault(undefined, join(folder, 'file/gateway.key'))
  vault.check()
  expect(vault.canSeal()).toBe(false)
  expect(vault.seal(TEXT, 'claim request')).toBeUndefined()
  expect(warnings).toEqual([expect.stringContaining('Set GATEWAY_SECRET_KEY')])
})

it('does not take a folder for a key file', () => {
  const file = join(folder, 'gateway.key')
  mkdirSync(file, { mode: 0o700 })
  expect(() => createVault().check()).toThrow(`${file} is in the place of the key file`)
})

it('does not wait for whoever writes to a pipe in the place of the key file', () => {
  const file = join(folder, 'gateway.key')
  expect(Bun.spawnSync(['mkfifo', '-m', '600', file]).exitCode).toBe(0)
  // In a process of its own, which can be ended should it wait.
  const program = `
    const { KEPT_ANSWERS, Vault } = await import(${JSON.stringify(join(import.meta.dir, 'vault.ts'))})
    new Vault({ purpose: KEPT_ANSWERS, secret: undefined, file: ${JSON.stringify(file)}, warn() {} }).check()`
  const { stderr, signalCode } = Bun.spawnSync([process.execPath, '-e', program], {
    timeout: 4000,
  })
  expect(signalCode).toBeUndefined()
  expect(stderr.toString()).toContain('is in the place of the key file and is no file')
})

it('follows no link to a key, and says what to do in a container', () => {
  createVault(undefined, join(folder, 'elsewhere')).canSeal()
  symlinkSync(join(folder, 'elsewhere'), join(folder, 'gateway.key'))
  expect(() => createVault().check()).toThrow('set GATEWAY_SECRET_KEY instead')
  expect(createVault().canSeal()).toBe(false)
})

// Only root can give a file away.
it.skipIf(process.getuid?.() !== 0)('takes no key of another user, who would know it', () => {
  const file = join(folder, 'gateway.key')
  createVault().canSeal()
  chownSync(file, 65_534, 65_534)
  expect(() => createVault().check()).toThrow(`chown 0 ${file}`)
  chownSync(file, 0, 0)
  createVault().check()
})
