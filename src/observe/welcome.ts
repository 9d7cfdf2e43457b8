// What a person sees after the start: where the gateway is, the key, the models, and a first command
// that works when it is pasted.

export interface Welcome {
  readonly url: string
  readonly newRootKey: string | undefined
  readonly hasOwnRootKey: boolean
  readonly models: readonly string[]
  readonly suppliers: readonly string[]
  readonly dataFolder: string
}

const LISTED_MAX = 8

export function welcome(facts: Welcome): string {
  const { url, models } = facts
  const model = models[0] ?? `${facts.suppliers[0]}/<model>`
  return `
  Inference gateway on ${url}

  Root key    ${describeKey(facts)}
  Suppliers   ${facts.suppliers.join(', ')}
  Models      ${listed(facts)}
  Data        ${facts.dataFolder}

  Try it:

  ${keyLine(facts)}curl ${url}/v1/chat/completions \\
    -H "Authorization: Bearer ${keyWord(facts)}" \\
    -H 'Content-Type: application/json' \\
    -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello!"}]}'

`
}

function keyWord({ newRootKey, hasOwnRootKey }: Welcome): string {
  return newRootKey ?? (hasOwnRootKey ? '$GATEWAY_ROOT_KEY' : '$KEY')
}

/** A key that was shown once cannot be shown again: whoever pastes must bring it. */
function keyLine({ newRootKey, hasOwnRootKey }: Welcome): string {
  const isKnown = newRootKey !== undefined || hasOwnRootKey
  return isKnown ? '' : 'export KEY=svc_…   # the root key of the first start\n  '
}

function describeKey({ newRootKey, hasOwnRootKey }: Welcome): string {
  if (newRootKey !== undefined) return `${newRootKey}   (shown this once; keep it)`
  if (hasOwnRootKey) return 'as set in GATEWAY_ROOT_KEY'
  return 'shown at the first start; set GATEWAY_ROOT_KEY to replace a lost one'
}

function listed({ models, suppliers }: Welcome): string {
  if (models.length === 0) return `whatever ${suppliers.join(', ')} serves, as <supplier>/<model>`
  const shown = models.slice(0, LISTED_MAX).join(', ')
  const more = models.length - LISTED_MAX
  return more > 0 ? `${shown} and ${more} more (GET /v1/models)` : shown
}
