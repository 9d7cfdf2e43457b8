// The gateway, started as a user starts it: by its main file, at a terminal, with a configuration file
// and a data folder of its own. Only this file knows how it is told about the supplier.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { HEADERS, ROOT_KEY, type Candidate } from './candidate.ts'

const MODEL = 'bench-model'

export interface GatewayStart {
  /** The checkout. */
  readonly root?: string
  /** Words for the runtime, such as those of its profiler. */
  readonly flags?: readonly string[]
}

export function createGateway(id: string, { root, flags = [] }: GatewayStart = {}): Candidate {
  const main = resolve(root ?? join(import.meta.dir, '../..'), 'src/main.ts')
  return {
    id,
    async open({ processes, supplier, hasLog }) {
      const dataFolder = processes.createFolder(id)
      const file = join(dataFolder, 'gateway.yaml')
      let version = 1
      writeFileSync(file, configuration(supplier, version))
      const running = await processes.start({
        name: id,
        command: [process.execPath, ...flags, main, 'start', '--config', file],
        environment: { PORT: '0', GATEWAY_DATA: dataFolder, GATEWAY_ROOT_KEY: ROOT_KEY },
        // Without one it writes a line for each request.
        hasTerminal: !hasLog,
      })
      return {
        id,
        running,
        model: MODEL,
        headers: HEADERS,
        isPeer: false,
        dataFolder,
        changeConfiguration: () => writeFileSync(file, configuration(supplier, ++version)),
      }
    },
  }
}

/** The model has another name at the supplier, and each version another price. */
function configuration(supplier: string, version: number): string {
  return `
suppliers:
  bench:
    kind: openai-compatible
    origin: ${supplier}
    allow_private: true
    credential: bench-credential
    region: EU
    models:
      ${MODEL}:
        as: ${SUPPLIER_MODEL}
        price: { input: 0.${version}5, output: 0.${version}6 }
`
}

export const gateway = createGateway('gateway')
