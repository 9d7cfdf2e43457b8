// Generated pages are committed, so that they can be read without running anything. This fails when
// a table changed and its page did not.
import { join } from 'node:path'
import { describe, expect, it } from 'bun:test'
import { PROBLEMS } from '../src/core/problems/index.ts'
import { errorReference } from '../tools/error-reference.ts'

describe('the error reference', () => {
  it('matches the table; `npm run docs` writes it anew', async () => {
    const page = Bun.file(join(import.meta.dir, '..', 'docs/reference/errors.md'))
    expect((await page.text()).replaceAll('\r\n', '\n') === errorReference()).toBe(true)
  })

  it('has one line for each code', () => {
    const lines = errorReference().split('\n')
    const missing = Object.keys(PROBLEMS).filter(
      (code) => lines.filter((line) => line.startsWith(`| \`${code}\` |`)).length !== 1,
    )
    expect(missing).toEqual([])
  })
})
