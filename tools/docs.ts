// Writes the pages of `docs/reference` that are generated from tables in the source. Each page is a
// pure function elsewhere; this file only knows where it goes.
import { join } from 'node:path'
import { configReference } from './config-reference.ts'
import { conversionReference } from './conversion-reference.ts'
import { errorReference } from './error-reference.ts'

const PAGES: Readonly<Record<string, () => string>> = {
  'docs/reference/configuration.md': configReference,
  'docs/reference/conversion.md': conversionReference,
  'docs/reference/errors.md': errorReference,
}

const root = join(import.meta.dir, '..')
for (const [path, render] of Object.entries(PAGES)) {
  await Bun.write(join(root, path), render())
  console.log(`wrote ${path}`)
}
