// Runs the whole suite and ends with one plain line, `N passed, N failed`, that scripts can read.
import { join } from 'node:path'

const root = join(import.meta.dir, '..')
const only = process.argv.slice(2)
const child = Bun.spawn([process.execPath, 'test', ...(only.length > 0 ? only : ['src', 'test'])], {
  cwd: root,
  stdout: 'inherit',
  stderr: 'pipe',
  env: { ...process.env, FORCE_COLOR: '0' },
})

const decoder = new TextDecoder()
let tail = ''
for await (const chunk of child.stderr) {
  process.stderr.write(chunk)
  tail = (tail + decoder.decode(chunk, { stream: true })).slice(-4096)
}
const code = await child.exited
const passed = Number(/^\s*(\d+) pass$/m.exec(tail)?.[1] ?? 0)
const failed = Number(/^\s*(\d+) fail$/m.exec(tail)?.[1] ?? 0)
// A runner that died without a summary must not look like a suite without failures.
console.log(`${passed} passed, ${code !== 0 && failed === 0 ? 1 : failed} failed`)
process.exit(code)
