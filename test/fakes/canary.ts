// The secrets that the suite uses, each a text that stands nowhere else: whatever is written while the
// tests run can be searched for them. `tools/test.ts` searches the output, the fakes search the files.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the output of a test run must not hold. */
export const MARK = 'c4n4ry'

export const ROOT_CANARY = `svc_${MARK}-root-${'r'.repeat(24)}`
export const SUPPLIER_CANARY = `${MARK}-supplier-credential`
export const SEAL_CANARY = `${MARK}-seal-${'s'.repeat(24)}`

/** Files below a folder that hold one of the secrets, plain or in a common disguise. */
export function findSecrets(folder: string, secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    Buffer.from(secret).toString('hex'),
  ])
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => {
      const text = readFileSync(file, 'latin1')
      return forms.some((form) => text.includes(form))
    })
}
