// Runs the whole suite and ends with one plain line, `N passed, N failed`, that scripts can read. Every
// secret that the suite uses bears a mark, and a run whose output shows it has failed.
import { join } from 'node:path'
import { MARK } from '../test/fakes/canary.ts'

const root = join(import.meta.dir, '..')
const only = process.argv.slice(2)
const child = Bun.spawn([process.execPath, 'test', ...(only.length > 0 ? only : ['src', 'test'])], {
  cwd: root,
  stdout: 'pipe',
  stderr: 'pipe',
  env: { ...process.env, FORCE_COLOR: '0' },
})

/** Passes everything on; returns the end of it, and whether a secret was in it. */
async function relay(
  from: ReadableStream<Uint8Array>,
  to: NodeJS.WriteStream,
): Promise<{ readonly tail: string; readonly isLeaking: boolean }> {
  const decoder = new TextDecoder()
  let tail = ''
  let isLeaking = false
  for await (const chunk of from) {
    to.write(chunk)
    const text = tail + decoder.decode(chunk, { stream: true })
    isLeaking ||= text.includes(MARK)
    tail = text.slice(-4096)
  }
  return { tail, isLeaking }
}

const [output, report] = await Promise.all([
  relay(child.stdout, process.stdout),
  relay(child.stderr, process.stderr),
])
const { tail } = report
const isLeaking = output.isLeaking || report.isLeaking
if (isLeaking) console.log(`A secret of the suite (${MARK}) stands in the output above.`)
const code = await child.exited
const passed = Number(/^\s*(\d+) pass$/m.exec(tail)?.[1] ?? 0)
const failed = Number(/^\s*(\d+) fail$/m.exec(tail)?.[1] ?? 0)
// A runner that died without a summary must not look like a suite without failures.
const isBroken = isLeaking || (code !== 0 && failed === 0)
console.log(`${passed} passed, ${failed + (isBroken ? 1 : 0)} failed`)
process.exit(isBroken ? 1 : code)
