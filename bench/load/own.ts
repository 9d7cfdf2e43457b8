// The load for machines without wrk: a Bun process that asks with fetch. It lets every call end.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Processes } from '../processes.ts'
import type { Load, Tally } from './load.ts'

const GRACE_MS = 40_000

export function createOwn(processes: Processes): Load {
  return {
    id: 'own',
    async run(order) {
      const path = join(processes.createFolder('own'), 'order.json')
      writeFileSync(path, JSON.stringify(order))
      const { code, output } = await processes.run(
        {
          name: 'load',
          command: [process.execPath, join(import.meta.dir, 'callers.ts'), path],
          environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
        },
        order.seconds * 1000 + GRACE_MS,
      )
      if (code !== 0) throw new Error(`the load ended with ${code}: ${output}`)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- printed by our own process
      return JSON.parse(output) as Tally
    },
  }
}
