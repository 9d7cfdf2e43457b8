// A peer: the open gateway of Portkey, TypeScript on Node. It is installed into the scratch folder of
// the run, at one version, and only on request.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort, type Processes } from '../processes.ts'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { HEADERS, type Candidate } from './candidate.ts'

const PACKAGE = '@portkey-ai/gateway'
const MANIFEST = {
  private: true,
  dependencies: { [PACKAGE]: '1.15.2' },
  // With later ones its streams fail with `TypeError: immutable` (Portkey-AI/gateway #1389, 2025-10).
  overrides: { '@hono/node-server': '1.14.1' },
}
const INSTALL_MS = 180_000

export const portkey: Candidate = {
  id: 'portkey',
  obstacle: () => (Bun.which('node') === null ? 'node is not installed' : undefined),
  async open({ processes, supplier }) {
    const folder = await install(processes)
    const port = findFreePort()
    const file = join(folder, 'node_modules', PACKAGE, 'build/start-server.js')
    const running = await processes.start({
      name: 'portkey',
      command: [Bun.which('node') ?? 'node', file, `--port=${port}`, '--headless'],
      url: `http://127.0.0.1:${port}`,
    })
    const headers = {
      ...HEADERS,
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${supplier}/v1`,
    }
    return { id: 'portkey', running, model: SUPPLIER_MODEL, headers, isPeer: true }
  },
}

async function install(processes: Processes): Promise<string> {
  const folder = processes.createFolder('portkey')
  writeFileSync(join(folder, 'package.json'), JSON.stringify(MANIFEST))
  const flags = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund']
  const command = [Bun.which('npm') ?? 'npm', 'install', ...flags, '--loglevel=error']
  const { code, output } = await processes.run({ name: 'npm', command }, INSTALL_MS)
  if (code !== 0) throw new Error(`npm could not install ${PACKAGE}: ${output.slice(-300)}`)
  return folder
}
