// The demo suppliers as data: one in the EU and a backup in the US serve the same models, so that
// failover and region can be tried without an account anywhere.
import { Secret } from '../../core/secret.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { Supplier } from '../supplier.ts'
import { DEMO_LIMITS, DEMO_REGIONS, demoModels, type DemoName } from './models.ts'
import { startDemo, type DemoServer } from './server.ts'

export interface DemoSuppliers {
  readonly suppliers: readonly Supplier[]
  stop(): Promise<void>
}

export function startDemoSuppliers(dialect: Dialect): DemoSuppliers {
  const credential = `demo-${crypto.randomUUID()}`
  const primary = startDemo({ name: 'demo', credential })
  const backup = startDemo({ name: 'demo-backup', credential })
  const describe = (id: DemoName, server: DemoServer): Supplier => ({
    id,
    origin: server.origin,
    region: DEMO_REGIONS[id],
    credential: new Secret(credential),
    signature: 'bearer',
    services: [{ dialect, path: '/v1/chat/completions' }],
    quirks: { usage: 'ask' },
    timeouts: {},
    models: new Map(
      demoModels.map(({ name, price }) => [
        `demo/${name}`,
        { as: name, prices: [{ from: 0, price }], ownedBy: 'demo', limits: DEMO_LIMITS },
      ]),
    ),
    anyModel: undefined,
    allowPrivate: true,
  })
  return {
    suppliers: [describe('demo', primary), describe('demo-backup', backup)],
    async stop() {
      await Promise.all([primary.stop(), backup.stop()])
    },
  }
}
