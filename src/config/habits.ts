// What people write who come from another gateway or an SDK, and what the same thing is called here. The
// place is a path in which `*` is any name; the answer completes "write …".

const CREDENTIAL = 'credential'
const ORIGIN = 'origin'
const KIND = 'kind'

const LISTED =
  'is how another gateway lists models; here each supplier lists its own: write `suppliers:`, under it a name, and under that kind, credential and models'
const ELSEWHERE = 'belongs to the file of another gateway and has no counterpart here: remove it'
const PER_TOKEN = ' in dollars for a million tokens, as price pages show it'

export interface Habit {
  /** The field that is meant, with its place where that is another one. */
  readonly field?: string
  /** Something to know beside the field's name. */
  readonly note?: string
  /** A whole text, where no field is meant. */
  readonly text?: string
}

type Habits = Readonly<Record<string, string | Habit>>

const TIMEOUT_HABITS: Habits = {
  request: 'total',
  overall: 'total',
  timeout: 'total',
  ttfb: 'first_byte',
  connect: 'first_byte',
  ttft: 'first_content',
  first_token: 'first_content',
  read: 'idle',
  stream: 'idle',
}

const PRICE_HABITS: Habits = {
  in: 'input',
  prompt: 'input',
  input_tokens: 'input',
  input_cost_per_token: { field: 'input', note: PER_TOKEN },
  input_price: 'input',
  out: 'output',
  completion: 'output',
  output_tokens: 'output',
  output_cost_per_token: { field: 'output', note: PER_TOKEN },
  output_price: 'output',
  cached: 'cached_input',
  cache_read: 'cached_input',
  currency: { text: 'is always US dollars: remove this line' },
  since: 'from',
  valid_from: 'from',
}

const HABITS: Readonly<Record<string, Habits>> = {
  '': {
    providers: 'suppliers',
    provider: 'suppliers',
    vendors: 'suppliers',
    backends: 'suppliers',
    upstreams: 'suppliers',
    model_list: { text: LISTED },
    litellm_settings: { text: ELSEWHERE },
    router_settings: { text: ELSEWHERE },
    general_settings: { text: ELSEWHERE },
    environment_variables: { text: `${ELSEWHERE}, and export the variables before the start` },
    server: 'listen',
    port: 'listen.port',
    host: 'listen.host',
    bind: 'listen.host',
    address: 'listen.host',
    timeout: 'defaults.timeouts.total',
    timeouts: 'defaults.timeouts',
    request_timeout: 'defaults.timeouts.total',
    retries: 'limits.attempts',
    num_retries: 'limits.attempts',
    master_key: 'root_key',
    admin_key: 'root_key',
    api_key: 'root_key',
    data_dir: 'data',
    database: 'data',
    database_url: 'data',
    keys: {
      text: 'are not kept in the file: make them with `gateway keys create`, which shows each secret once',
    },
    prices: 'models.<id>.price',
    credential: 'suppliers.<name>.credential',
    kind: 'suppliers.<name>.kind',
    origin: 'suppliers.<name>.origin',
  },
  listen: { address: 'host', bind: 'host', ip: 'host' },
  limits: {
    max_body: 'body_mib',
    body: 'body_mib',
    retries: 'attempts',
    max_retries: 'attempts',
    timeout: 'defaults.timeouts.total',
    rpm: { text: 'is a limit of a key: `gateway keys create --rpm 60`' },
    budget: { text: 'is a limit of a key: `gateway keys create --budget 10`' },
  },
  'suppliers.*': {
    api_key: CREDENTIAL,
    apikey: CREDENTIAL,
    key: CREDENTIAL,
    token: CREDENTIAL,
    secret: CREDENTIAL,
    password: CREDENTIAL,
    auth: CREDENTIAL,
    authorization: CREDENTIAL,
    bearer: CREDENTIAL,
    api_keys: 'credentials',
    keys: 'credentials',
    base_url: ORIGIN,
    baseurl: ORIGIN,
    api_base: ORIGIN,
    url: ORIGIN,
    endpoint: ORIGIN,
    address: ORIGIN,
    host: ORIGIN,
    provider: KIND,
    type: KIND,
    vendor: KIND,
    dialect: KIND,
    location: 'region',
    zone: 'region',
    regions: {
      field: 'region',
      note: ' with one of them, and a supplier of its own for each other one',
    },
    version: 'api_version',
    insecure: 'allow_private',
    allow_http: 'allow_private',
    timeout: 'timeouts.total',
    request_timeout: 'timeouts.total',
    model: 'models',
    model_list: 'models',
    deployment: 'models.<id>.as',
    price: 'models.<id>.price',
    name: { text: 'is not needed: the name of a supplier is the line above its fields' },
    id: { text: 'is not needed: the name of a supplier is the line above its fields' },
  },
  'suppliers.*.oauth': {
    token_endpoint: 'token_url',
    token_uri: 'token_url',
    refresh_url: 'token_url',
    authorization_endpoint: 'authorize_url',
    authorization_url: 'authorize_url',
    auth_url: 'authorize_url',
    redirect_uri: 'redirect_url',
    device_authorization_endpoint: 'device_url',
    scopes: { field: 'scope', note: ' with all of them, and a space between any two' },
    grant_type: 'grant',
    token_endpoint_auth_method: 'client_auth',
    secret: 'client_secret',
    issuer: {
      text: 'is nobody that is asked for addresses: write token_url, and authorize_url where people sign in',
    },
    refresh_token: { text: 'belongs to a sign-in and not to the file: `gateway native import`' },
    access_token: { text: 'belongs to a sign-in and not to the file: `gateway native import`' },
  },
  'suppliers.*.models.*': {
    name: 'as',
    model: 'as',
    id: 'as',
    deployment: 'as',
    alias: 'as',
    cost: 'price',
    pricing: 'price',
    prices: 'price',
    input: 'price.input',
    output: 'price.output',
    input_cost_per_token: { field: 'price.input', note: PER_TOKEN },
    output_cost_per_token: { field: 'price.output', note: PER_TOKEN },
    timeout: 'timeouts.total',
    context_window: 'models.<id>.context_window',
  },
  'models.*': {
    context: 'context_window',
    context_length: 'context_window',
    max_input_tokens: 'context_window',
    max_tokens: 'output_ceiling',
    max_output_tokens: 'output_ceiling',
    type: KIND,
    mode: KIND,
    owner: 'owned_by',
    provider: 'owned_by',
    as: 'suppliers.<name>.models.<id>.as',
    cost: 'price',
    pricing: 'price',
    input_cost_per_token: { field: 'price.input', note: PER_TOKEN },
    output_cost_per_token: { field: 'price.output', note: PER_TOKEN },
  },
}

/** Servers that people run themselves, by the names of the programs; letters and digits alone. */
const OWN_SERVERS = [
  'vllm',
  'tgi',
  'lmstudio',
  'llamacpp',
  'llamaserver',
  'litellm',
  'sglang',
  'localai',
]

/** The kind that a server has which is no kind by its own name: the one for whatever is compatible. */
export function findForeignKind(kind: string, kinds: readonly string[]): string | undefined {
  const plain = kind.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  return OWN_SERVERS.includes(plain)
    ? kinds.find((each) => each.endsWith('-compatible'))
    : undefined
}

/** What somebody meant who wrote this name at this place. */
export function findHabit(place: readonly string[], name: string): Habit | undefined {
  const key = name.toLowerCase().replaceAll('-', '_')
  const habits = habitsOf(place)
  const habit = Object.hasOwn(habits, key) ? habits[key] : undefined
  return typeof habit === 'string' ? { field: habit } : habit
}

function habitsOf(place: readonly string[]): Habits {
  const last = place.findLast((step) => step !== '*')
  if (last === 'timeouts') return TIMEOUT_HABITS
  if (last === 'price' || last === 'long_context') return PRICE_HABITS
  const key = place.join('.')
  return (Object.hasOwn(HABITS, key) ? HABITS[key] : undefined) ?? {}
}
