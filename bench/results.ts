// Where results are kept: a pair of files for each run, and the latest one that was meant to be shown.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { toJson, toMarkdown, type Result } from './report.ts'

const FOLDER = join(import.meta.dir, 'results')

/** The page that was written, as a path from here. */
export function writeResults(result: Result, isLatest: boolean): string {
  mkdirSync(FOLDER, { recursive: true })
  const name = result.date.replaceAll(':', '-').replace(/\..*$/, '')
  const names = isLatest ? [name, 'latest'] : [name]
  for (const each of names) {
    writeFileSync(join(FOLDER, `${each}.json`), toJson(result))
    writeFileSync(join(FOLDER, `${each}.md`), toMarkdown(result))
  }
  return relative(process.cwd(), join(FOLDER, `${name}.md`))
}
