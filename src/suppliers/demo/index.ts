// The demo suppliers as data: one in the EU and a backup in the US serve the same models, so that
// failover and region can be tried without an account anywhere.
import { Secret } from '../../core/secret.ts'
import { anthropicMessages } from '../../dialects/anthropic-messages/index.ts'
import { openaiChat } from '../../dialects/openai-chat/index.ts'
import type { Supplier } from '../supplier.ts'
import { DEMO_LIMITS, DEMO_REGIONS, demoModels, type DemoName } from './models.ts'
import { PATHS, startDemo, type DemoServer } from './server.ts'

export interface DemoSuppliers {
  readonly suppliers: readonly Supplier[]
  stop(): Promise<void>
}

/** Each model speaks one of the two. */
const DIALECTS = { chat: [openaiChat.id], messages: [anthropicMessages.id] }

export function startDemoSuppliers(): DemoSuppliers {
  const credential = `demo-${crypto.randomUUID()}`
  const primary = startDemo({ name: 'demo', credential })
  const backup = startDemo({ name: 'demo-backup', credential })
  const describe = (id: DemoName, server: DemoServer): Supplier => ({
    id,
    origin: server.origin,
    region: DEMO_REGIONS[id],
    credential: new Secret(credential),
    signature: 'bearer',
    services: [
      { dialect: openaiChat, path: PATHS.chat },
      {
        dialect: anthropicMessages,
        path: PATHS.messages,
        signature: 'x-api-key',
        quirks: { usage: 'always' },
      },
    ],
    quirks: { usage: 'ask' },
    timeouts: {},
    models: new Map(
      demoModels.map(({ name, price, language }) => [
        `demo/${name}`,
        {
          as: name,
          prices: [{ from: 0, price }],
          ownedBy: 'demo',
          limits: DEMO_LIMITS,
          dialects: DIALECTS[language],
        },
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
