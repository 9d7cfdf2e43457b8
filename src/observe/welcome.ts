// What a person sees after the start: where the gateway is, the key, the models, and a first command
// that works when it is pasted. No line is longer than 80 columns, unless one of its words is.

export interface Welcome {
  readonly url: string
  readonly newRootKey: string | undefined
  /** Where the operator has set the root key, if that is where it comes from. */
  readonly rootKeyFrom: 'environment' | 'file' | undefined
  readonly models: readonly string[]
  readonly suppliers: readonly string[]
  readonly dataFolder: string
  /** The configuration file, if there is one. */
  readonly file: string | undefined
}

const LISTED_MAX = 8
const WIDTH = 80
/** Where the values stand. */
const LEFT = 14

export function welcome(facts: Welcome): string {
  const { url, models } = facts
  const model = models[0] ?? `${facts.suppliers[0]}/<model>`
  return `
  Inference gateway on ${url}

  Root key    ${describeKey(facts)}
  Suppliers   ${broken(facts.suppliers.join(', '))}
  Models      ${broken(listed(facts))}
  Data        ${facts.dataFolder}
${facts.file === undefined ? '' : `  File        ${facts.file}\n`}
  Try it:

  ${keyLine(facts)}curl ${url}/v1/chat/completions \\
    -H "Authorization: Bearer ${keyWord(facts)}" \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "${model}",
         "messages": [{"role": "user", "content": "Hello!"}]}'

`
}

function keyWord({ newRootKey, rootKeyFrom }: Welcome): string {
  return newRootKey ?? (rootKeyFrom === 'environment' ? '$GATEWAY_ROOT_KEY' : '$KEY')
}

/** A key that was shown once cannot be shown again: whoever pastes must bring it. */
function keyLine({ newRootKey, rootKeyFrom }: Welcome): string {
  if (newRootKey !== undefined || rootKeyFrom === 'environment') return ''
  const which =
    rootKeyFrom === 'file' ? 'the root_key of the file' : 'the root key of the first start'
  return `export KEY=svc_…   # ${which}\n  `
}

function describeKey({ newRootKey, rootKeyFrom }: Welcome): string {
  if (newRootKey !== undefined)
    return `${newRootKey}\n${' '.repeat(LEFT)}(shown this once; keep it)`
  if (rootKeyFrom === 'environment') return 'as set in GATEWAY_ROOT_KEY'
  if (rootKeyFrom === 'file') return 'as set by root_key in the file'
  return `shown at the first start;\n${' '.repeat(LEFT)}set GATEWAY_ROOT_KEY to replace a lost one`
}

/** Goes on below itself at a word, so that no window breaks it elsewhere. */
function broken(text: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line === '' || longer.length <= WIDTH - LEFT) {
      line = longer
      continue
    }
    lines.push(line)
    line = word
  }
  return [...lines, line].join(`\n${' '.repeat(LEFT)}`)
}

function listed({ models, suppliers }: Welcome): string {
  if (models.length === 0) return `whatever ${suppliers.join(', ')} serves, as <supplier>/<model>`
  const shown = models.slice(0, LISTED_MAX).join(', ')
  const more = models.length - LISTED_MAX
  return more > 0 ? `${shown} and ${more} more (GET /v1/models)` : shown
}
