// The version of this program, and of the runtime under it, as a report of a bug should name them.
import type { Desk, Words } from './command.ts'

export async function showVersion(_words: Words, { screen }: Desk): Promise<void> {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  const { version } = manifest
  const place = `${process.platform}-${process.arch}`
  if (screen.isMachine) screen.json({ version, bun: Bun.version, platform: place })
  else screen.print(`gateway ${version} (bun ${Bun.version}, ${place})`)
}
