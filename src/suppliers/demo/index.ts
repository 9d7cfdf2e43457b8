// The demo suppliers as data: one in the EU and a backup in the US serve the same models, so that
// failover and region can be tried without an account anywhere.
import { Secret } from '../../core/secret.ts'
import type { Dialect } from '../../dialects/dialect.ts'
import type { Supplier } from '../supplier.ts'
import { demoModels } from './models.ts'
import { startDemo, type DemoServer } from './server.ts'

export interface DemoSuppliers {
  readonly suppliers: readonly Supplier[]
  stop(): Promise<void>
}

export function startDemoSuppliers(dialect: Dialect): DemoSuppliers {
  const credential = `demo-${crypto.randomUUID()}`
  const primary = startDemo({ name: 'demo', credential })
  const backup = startDemo({ name: 'demo-backup', credential })
  const describe = (id: string, region: string, server: DemoServer): Supplier => ({
    id,
    origin: server.origin,
    region,
    credential: new Secret(credential),
    services: [{ dialect, path: '/v1/chat/completions' }],
    quirks: { usage: 'ask' },
    models: new Map(
      demoModels.map(({ name, price }) => [`demo/${name}`, { as: name, price, ownedBy: 'demo' }]),
    ),
    anyModel: undefined,
    allowPrivate: true,
  })
  return {
    suppliers: [describe('demo', 'EU', primary), describe('demo-backup', 'US', backup)],
    async stop() {
      await Promise.all([primary.stop(), backup.stop()])
    },
  }
}
