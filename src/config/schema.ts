// The one description of the configuration file. Types, defaults, error text and the reference page all
// come from here. Names are those of the file, so that nobody has to translate between file and code.
import { z } from 'zod'
import { ROOT_PREFIX } from '../core/ids.ts'
import { foldRegion, isNoPlace, NO_PLACE } from '../core/region.ts'
import { Secret } from '../core/secret.ts'
import { Auto } from './auto.ts'
import { Credential } from './credential.ts'
import { OAuth } from './oauth.ts'
import { Price } from './price.ts'
import { Quirks } from './quirks.ts'
import { Conversion, Policy, Routing, Weight } from './routing.ts'

/** What the schema says about a field beside its type. */
declare module 'zod' {
  interface GlobalMeta {
    /** Completes "write …". */
    hint?: string
    /** Its value is never shown. */
    secret?: boolean
  }
}

const ROOT_KEY_LENGTH_MIN = 32
export const ROOT_KEY_RULE = `begin with ${ROOT_PREFIX} and have at least ${ROOT_KEY_LENGTH_MIN} printable characters, none of them a comma`

export function isRootKey(text: string): boolean {
  return (
    text.startsWith(ROOT_PREFIX) &&
    text.length >= ROOT_KEY_LENGTH_MIN &&
    /^[\x21-\x2b\x2d-\x7e]+$/.test(text)
  )
}

/**
 * An id that is safe in a path, a header, a log line and `<supplier>/<model>`. With a letter first: names that
 * are numbers come before all others in an object, and the order of suppliers is the order of attempts.
 */
const SupplierId = z
  .string()
  .regex(/^[a-z](?:[a-z0-9_-]{0,62}[a-z0-9])?$/)
  .meta({ hint: 'a lower-case letter, then letters, digits, - and _, at most 64' })

const ModelId = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:/@-]{0,199}$/)
  .meta({ hint: 'letters, digits and . _ : / @ -, at most 200' })

/** As somebody writes it: of two spellings of one region in one list neither may hide the other. */
const RegionName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .meta({ hint: 'letters, digits, - and _, at most 64' })

const Region = RegionName.transform((region) =>
  isNoPlace(region) ? NO_PLACE : foldRegion(region),
).meta({ hint: 'one region such as EU, or global where the supplier promises no place' })

const RootKey = z
  .string()
  .refine(isRootKey, {
    message: `must ${ROOT_KEY_RULE}; without a root_key one is made at the first start`,
  })
  .transform((text) => new Secret(text))
  .meta({ hint: 'a variable of the environment such as ${MY_ROOT_KEY}', secret: true })

const Seconds = z.number().positive().max(86_400).meta({ hint: 'a number of seconds' })
const Mebibytes = z.number().positive().max(256).meta({ hint: 'a number of MiB' })
const Tokens = z.int().positive().meta({ hint: 'a number of tokens' })

const Timeouts = z
  .strictObject({
    total: Seconds.optional().describe(
      'A call that is not streamed: from the first byte sent to the last received.',
    ),
    first_byte: Seconds.optional().describe('A stream: until the supplier answers at all.'),
    first_content: Seconds.optional().describe(
      'A stream: until the first content, thinking included.',
    ),
    idle: Seconds.optional().describe('A stream: the longest silence after the first content.'),
  })
  .meta({ hint: 'times by name, such as total: 300' })

const SupplierModel = z
  .strictObject({
    as: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe("The supplier's own name for the model, or its deployment there.")
      .meta({ hint: "the supplier's own name for the model" }),
    price: Price.optional().describe(
      'What this supplier asks, where the catalogue does not know it or you pay something else.',
    ),
    timeouts: Timeouts.optional().describe('For this model at this supplier.'),
    weight: Weight.optional().describe(
      "Its share of this model's calls where they are shared out by weight. Without it: the supplier's.",
    ),
  })
  .meta({ hint: 'as, price and timeouts on lines of their own below it, or nothing at all' })

const Supplier = z
  .strictObject({
    kind: z
      .string()
      .min(1)
      .describe('What it is: one of the known kinds, or the generic one.')
      .meta({ hint: 'what the supplier is (docs/suppliers.md lists the kinds)' }),
    origin: z
      .string()
      .min(1)
      .optional()
      .describe('Scheme, host and, where needed, port and path prefix. Most kinds know their own.')
      .meta({ hint: 'an address such as https://models.example.com' }),
    credential: Credential.optional().describe('What the supplier knows you by.'),
    credentials: z
      .array(Credential)
      .min(1)
      .max(16)
      .optional()
      .describe('Several, which share the calls.')
      .meta({
        hint: 'one credential a line, each after a dash, or `credential:` for a single one',
      }),
    region: Region.optional().describe(
      'Where it runs the models. Without it: global, which no key that is locked to a region reaches.',
    ),
    allow_private: z
      .boolean()
      .default(false)
      .describe('Allow plain http and addresses of private networks.'),
    api_version: z
      .string()
      .regex(/^[\w.-]{1,32}$/)
      .optional()
      .describe('The version of its interface, for kinds that ask for one.')
      .meta({ hint: 'a version such as 2024-10-21' }),
    models: z
      .record(ModelId, SupplierModel.nullable())
      .optional()
      .describe('What it serves. Without it: all that the catalogue lists for its kind.')
      .meta({ hint: 'one model a line, each id followed by a colon' }),
    timeouts: Timeouts.optional().describe('For all of its models.'),
    weight: Weight.optional().describe(
      'Its share of the calls where they are shared out by weight; with 0 only what the others could not take. Without it: 1.',
    ),
    quirks: Quirks.optional().describe('Where it departs from the language that it speaks.'),
    billing: z
      .enum(['metered', 'subscription'])
      .optional()
      .describe(
        'For native kinds: calls cost what their tokens cost, or nothing, because whoever signs in has paid already. Without it: metered.',
      ),
    oauth: OAuth.optional().describe(
      'For native kinds: how sign-ins are renewed, where it is not as the kind knows.',
    ),
  })
  .refine((value) => value.credential === undefined || value.credentials === undefined, {
    path: ['credentials'],
    message: 'stands beside credential: keep credential for one, or credentials for several',
    when: ({ value }) => isMapping(value),
  })
  .meta({ hint: 'its fields below it, indented by two more spaces, kind first' })

const Model = z
  .strictObject({
    owned_by: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('Who made it, as the model listing shows.')
      .meta({ hint: "the maker's name" }),
    kind: z
      .enum(['chat', 'embedding', 'rerank', 'transcription', 'speech'])
      .optional()
      .describe('What it does. Without it, for a model the catalogue does not know: chat.'),
    context_window: Tokens.optional().describe('How many tokens fit in, input and output.'),
    output_ceiling: Tokens.optional().describe('The most output tokens of one answer.'),
    image_tokens: Tokens.optional().describe(
      'The most tokens that one image counts for. Without it, where the catalogue does not know: 50000.',
    ),
    capabilities: z
      .array(z.enum(['tools', 'images', 'audio', 'json', 'reasoning']))
      .optional()
      .describe('What it can do beside text.')
      .meta({ hint: 'a list such as [tools, images]' }),
    price: Price.optional().describe('What it costs, unless its supplier says something else.'),
    timeouts: Timeouts.optional().describe('For this model at every supplier.'),
    policy: Policy.optional().describe('Who is asked first for it. Without it: routing.policy.'),
    fallbacks: z
      .array(ModelId)
      .max(8)
      .optional()
      .describe(
        'Models that stand in for it when nobody who serves it answers, in this order. What stands in for those does not follow.',
      )
      .meta({ hint: 'a list of models such as [other-model]' }),
  })
  .meta({ hint: 'its fields on lines of their own below it, such as context_window: 128000' })

const Listen = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .default('127.0.0.1')
      .describe('The address to listen on; 0.0.0.0 is every address of the machine.')
      .meta({ hint: 'an address such as 0.0.0.0' }),
    port: z.int().min(0).max(65_535).default(8080).describe('0 takes any free port.'),
  })
  .meta({ hint: 'host: and port: on lines of their own below it' })

const Limits = z
  .strictObject({
    body_mib: Mebibytes.default(32).describe('The largest request body.'),
    answer_mib: Mebibytes.default(32).describe('The largest answer that is not streamed.'),
    attempts: z
      .int()
      .min(1)
      .max(10)
      .default(3)
      .describe(
        'How many attempts there are at most for one call; each credential of a supplier is one.',
      ),
    in_flight: z
      .int()
      .min(1)
      .max(65_535)
      .default(4096)
      .describe('How many calls run at once. Health and management are not among them.')
      .meta({ hint: 'a whole number of calls such as 4096' }),
    in_flight_per_key: z
      .int()
      .min(1)
      .max(65_535)
      .default(2048)
      .describe('How many calls of one key run at once.')
      .meta({ hint: 'a whole number of calls such as 100' }),
    keep_alive: Seconds.default(15).describe(
      'Silence after which a waiting caller gets a sign of life.',
    ),
    stall: Seconds.default(60).describe(
      'How long a caller may stop reading a stream before it counts as gone.',
    ),
    drain: Seconds.default(120).describe('How long running calls may go on after a SIGTERM.'),
  })
  .meta({ hint: 'limits by name, such as attempts: 3' })

const Defaults = z
  .strictObject({
    timeouts: z
      .strictObject({
        total: Seconds.default(600).describe('A call that is not streamed, from start to end.'),
        first_byte: Seconds.default(30).describe('A stream: until the supplier answers at all.'),
        first_content: Seconds.default(300).describe(
          'A stream: until the first content, thinking included.',
        ),
        idle: Seconds.default(120).describe('A stream: the longest silence after that.'),
      })
      .meta({ hint: 'times by name, such as total: 300' })
      .prefault({})
      .describe('For every model that has none of its own.'),
    transcription: ModelId.optional().describe(
      'The model of a transcription that names none. Without it such a request is refused.',
    ),
  })
  .meta({ hint: 'timeouts: and the times below it, or transcription: and a model' })

const Ledger = z
  .strictObject({
    recovery: z
      .enum(['charge_estimate', 'charge_hold', 'keep'])
      .default('charge_estimate')
      .describe(
        'What a key pays for a call whose process died: the input and what is known to be delivered, all that was held, or nothing yet: the hold stays until somebody decides.',
      ),
    recovery_after: Seconds.default(600).describe(
      'How long such a call waits for a decision by hand before that happens.',
    ),
    overrun: z
      .enum(['absorb', 'charge'])
      .default('absorb')
      .describe(
        'Who pays what a supplier charges beyond what was held: the operator, or the key past its limit.',
      ),
    on_disconnect: z
      .enum(['abort', 'drain'])
      .default('abort')
      .describe(
        "What becomes of the supplier's answer when a caller hangs up: ended at once and charged by estimate, or read on for a while for the exact figure.",
      ),
    unbounded: z
      .enum(['refuse', 'allow'])
      .default('refuse')
      .describe(
        'A request whose cost nothing bounds, from a key with a budget: refused, or let through past the limit if need be.',
      ),
    durability: z
      .enum(['process', 'power'])
      .default('process')
      .describe(
        'What the books survive: the end of the process, or also a power cut, at the price of a slower disk write for every call.',
      ),
  })
  .meta({ hint: 'choices by name, such as recovery: keep' })

const Idempotency = z
  .strictObject({
    keep: Seconds.default(86_400).describe(
      'How long a request under an Idempotency-Key is remembered, with its answer.',
    ),
    answer_bytes: z
      .int()
      .min(0)
      .max(33_554_432)
      .default(1_048_576)
      .describe(
        'The largest answer that is kept for the same request again; 0 keeps none. Answers are kept encrypted.',
      )
      .meta({ hint: 'a number of bytes such as 1048576, or 0' }),
    total_bytes: z
      .int()
      .min(0)
      .max(1_099_511_627_776)
      .default(1_073_741_824)
      .describe(
        'What all kept answers may take on disk together; 0 keeps none. No account gets more than is left for the others: one alone has half of it.',
      )
      .meta({ hint: 'a number of bytes such as 1073741824, or 0' }),
  })
  .meta({ hint: 'keep:, answer_bytes: and total_bytes: on lines of their own below it' })

export const ConfigSchema = z.strictObject({
  listen: Listen.prefault({}).describe('Where the gateway listens.'),
  data: z
    .string()
    .min(1)
    .refine((folder) => !/^~(?:\/|$)/.test(folder), {
      message: 'begins with ~, which only a shell understands: write ${HOME} in its place',
    })
    .default('data')
    .describe('The folder of the database. In the file it is relative to the file.')
    .meta({ hint: 'a folder such as ./data' }),
  root_key: RootKey.optional().describe(
    `The root admin key. Without it: made and shown at the first start. It must ${ROOT_KEY_RULE}.`,
  ),
  discover: z
    .boolean()
    .default(false)
    .describe('Also take suppliers whose usual variable is set in the environment.'),
  demo: z
    .boolean()
    .optional()
    .describe('The demo suppliers. Without it: on while there is no other supplier.'),
  models_shape: z
    .enum(['auto', 'array', 'list'])
    .default('auto')
    .describe('GET /v1/models: an array, a list object, or what the client at hand reads.'),
  suppliers: z
    .record(SupplierId, Supplier)
    .default({})
    .describe('Who runs the models, by a name of your own. The order is the order of attempts.')
    .meta({ hint: 'each supplier under a name of its own, followed by a colon' }),
  models: z
    .record(ModelId, Model)
    .default({})
    .describe('What you know better than the catalogue about a model, or it does not know at all.')
    .meta({ hint: 'one model a line, each id followed by a colon, and its fields below it' }),
  aliases: z
    .record(ModelId, ModelId)
    .default({})
    .describe(
      'Other names for models, such as fast: small-model, or for a model at one supplier, such as fast: my-supplier/small-model. All names may be called.',
    )
    .meta({ hint: 'one name a line, followed by a colon and the model that it means' }),
  regions: z
    .record(RegionName, Region)
    .default({})
    .describe(
      'Regions of your own and what each lies in, such as fra-dc: DE, beside those that are known.',
    )
    .meta({ hint: 'one region a line, followed by a colon and the region that it lies in' }),
  routing: Routing.prefault({}).describe('Who is asked first, and for how long sessions stay.'),
  auto: Auto.prefault({}).describe('How a model is chosen for calls that ask for `auto`.'),
  conversion: Conversion.prefault({}).describe(
    'What is done where a supplier speaks another language than the caller.',
  ),
  limits: Limits.prefault({}).describe('Sizes, times and numbers that no call may exceed.'),
  ledger: Ledger.prefault({}).describe('What the books do where there is no one right answer.'),
  idempotency: Idempotency.prefault({}).describe('What is kept for requests that are sent again.'),
  defaults: Defaults.prefault({}).describe('What holds where nothing else is said.'),
})

function isMapping(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export type Config = Readonly<z.output<typeof ConfigSchema>>
export type SupplierConfig = Config['suppliers'][string]
export type ModelConfig = Config['models'][string]
export type PriceConfig = z.output<typeof Price>
export type TimeoutsConfig = z.output<typeof Timeouts>
