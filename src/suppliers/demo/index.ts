// The demo suppliers as data: one in the EU and a backup in the US serve the same models, so that
// failover and region can be tried without an account anywhere.
import type { Capability } from '../../catalog/model.ts'
import { Secret } from '../../core/secret.ts'
import { anthropicMessages } from '../../dialects/anthropic-messages/index.ts'
import { openaiChat } from '../../dialects/openai-chat/index.ts'
import { openaiResponses } from '../../dialects/openai-responses/index.ts'
import type { Supplier } from '../supplier.ts'
import { DEMO_LIMITS, DEMO_REGIONS, demoModels, isPlain, type DemoName } from './models.ts'
import { PATHS, startDemo, type DemoServer } from './server.ts'

export interface DemoSuppliers {
  readonly suppliers: readonly Supplier[]
  stop(): Promise<void>
}

const ABILITIES: readonly Capability[] = ['tools', 'images', 'audio', 'json']

/** Each model speaks one of them. */
const DIALECTS = {
  chat: [openaiChat.id],
  messages: [anthropicMessages.id],
  responses: [openaiResponses.id],
}

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
        countPath: PATHS.count,
        signature: 'x-api-key',
        quirks: { usage: 'always' },
      },
      { dialect: openaiResponses, path: PATHS.responses, quirks: { usage: 'always' } },
    ],
    quirks: { usage: 'ask' },
    timeouts: {},
    models: new Map(
      demoModels.map((model) => [
        `demo/${model.name}`,
        {
          as: model.name,
          prices: [{ from: 0, price: model.price }],
          ownedBy: 'demo',
          limits: DEMO_LIMITS,
          capabilities: model.behaviour.reasons === true ? [...ABILITIES, 'reasoning'] : ABILITIES,
          dialects: DIALECTS[model.language],
          ...(isPlain(model) ? {} : { byNameOnly: true }),
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
