// The two proxies that are nothing else: the yardstick, and the floor below it.
import { join } from 'node:path'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { HEADERS, type Candidate } from './candidate.ts'

export const bare = createBare('bare')
export const bareMinimal = createBare('bare-minimal')

function createBare(id: string): Candidate {
  return {
    id,
    async open({ processes, supplier }) {
      const file = join(import.meta.dir, '..', `${id}.ts`)
      const running = await processes.start({
        name: id,
        command: [process.execPath, file, supplier],
        environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
      })
      return { id, running, model: SUPPLIER_MODEL, headers: HEADERS, isPeer: false }
    },
  }
}
