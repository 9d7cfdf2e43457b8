// The demo suppliers as data: one in the EU and a backup in the US serve the same models, so that failover and region
// can be tried without an account anywhere; a third one is for native agents, and issues its own sign-ins.
import type { Capability } from '../../catalog/model.ts'
import { Secret } from '../../core/secret.ts'
import { anthropicMessages } from '../../dialects/anthropic-messages/index.ts'
import { nativeResponses } from '../../dialects/native-responses/index.ts'
import { openaiChat } from '../../dialects/openai-chat/index.ts'
import { openaiEmbeddings } from '../../dialects/openai-embeddings/index.ts'
import { openaiResponses } from '../../dialects/openai-responses/index.ts'
import { openaiSpeech } from '../../dialects/openai-speech/index.ts'
import { openaiTranscriptions } from '../../dialects/openai-transcriptions/index.ts'
import { rerank } from '../../dialects/rerank/index.ts'
import type { ModelRoute, OAuth, Supplier } from '../supplier.ts'
import { INPUTS_MAX } from './embed.ts'
import { CLIENT_ID, OAUTH_PATHS, SCOPE, type IssuerOptions } from './issuer.ts'
import {
  DEMO_LIMITS,
  demoOffers,
  isPlain,
  taskOf,
  type DemoModel,
  type DemoName,
} from './models.ts'
import { ACCOUNT_HEADER, NATIVE_PATH, startNative } from './native.ts'
import type { DemoServer } from './presence.ts'
import type { Language } from './refusal.ts'
import { PATHS, startDemo } from './server.ts'

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
  native: [nativeResponses.id],
  embedding: [openaiEmbeddings.id],
  rerank: [rerank.id],
  transcription: [openaiTranscriptions.id],
  speech: [openaiSpeech.id],
} as const satisfies Readonly<Record<Language, readonly string[]>>

/** The options are those of the sign-ins of `demo-native`. */
export function startDemoSuppliers(options: IssuerOptions = {}): DemoSuppliers {
  const credential = `demo-${crypto.randomUUID()}`
  const primary = startDemo({ name: 'demo', credential })
  const backup = startDemo({ name: 'demo-backup', credential })
  const native = startNative(options)
  return {
    suppliers: [
      ordinary('demo', primary, credential),
      ordinary('demo-backup', backup, credential),
      describeNative(native),
    ],
    async stop() {
      await Promise.all([primary.stop(), backup.stop(), native.stop()])
    },
  }
}

function ordinary(id: DemoName, server: DemoServer, credential: string): Supplier {
  return {
    ...describe(id, server),
    credential: new Secret(credential),
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
      { dialect: openaiEmbeddings, path: PATHS.embedding, inputsMax: INPUTS_MAX },
      { dialect: rerank, path: PATHS.rerank },
      { dialect: openaiTranscriptions, path: PATHS.transcription },
      { dialect: openaiSpeech, path: PATHS.speech },
    ],
    quirks: { usage: 'ask' },
  }
}

function describeNative(server: DemoServer): Supplier {
  const quirks = { usage: 'always' } as const
  return {
    ...describe('demo-native', server),
    credential: undefined,
    services: [{ dialect: nativeResponses, path: NATIVE_PATH, quirks }],
    quirks,
    oauth: describeOauth(server),
  }
}

function describeOauth({ origin }: DemoServer): OAuth {
  return {
    grant: 'refresh_token',
    tokenUrl: origin + OAUTH_PATHS.token,
    clientId: CLIENT_ID,
    clientSecret: undefined,
    clientAuth: 'body',
    format: 'form',
    scope: SCOPE,
    audience: undefined,
    authorizeUrl: origin + OAUTH_PATHS.authorize,
    authorizeParameters: {},
    redirectUrl: undefined,
    deviceUrl: origin + OAUTH_PATHS.device,
    subjectHeader: ACCOUNT_HEADER,
  }
}

/** What all of them have alike. */
function describe(
  id: DemoName,
  { origin }: DemoServer,
): Omit<Supplier, 'credential' | 'services' | 'quirks'> {
  const { region, models } = demoOffers[id]
  return {
    id,
    origin,
    region,
    signature: 'bearer',
    timeouts: {},
    models: new Map(models.map((model) => [`demo/${model.name}`, routeOf(model)])),
    anyModel: undefined,
    allowPrivate: true,
  }
}

function routeOf(model: DemoModel): ModelRoute {
  const own = {
    as: model.name,
    prices: [{ from: 0, price: model.price }],
    ownedBy: 'demo',
    dialects: DIALECTS[model.language],
  } as const
  const task = taskOf(model)
  // Nobody chooses a model for what is no chat.
  if (task !== undefined) return { ...own, task, byNameOnly: true }
  return {
    ...own,
    limits: DEMO_LIMITS,
    capabilities: model.behaviour.reasons === true ? [...ABILITIES, 'reasoning'] : ABILITIES,
    ...(isPlain(model) ? {} : { byNameOnly: true }),
  }
}
