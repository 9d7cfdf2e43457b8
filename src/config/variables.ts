// `${NAME}` in the texts of the file. It is put in after the file was read, so that no value can become
// structure, and what is missing is told with the line that has to be run.

export type Environment = Readonly<Record<string, string | undefined>>

export interface Filled {
  readonly text: string
  readonly hasVariable: boolean
  /** Some of it stands in the file after all, as what to take where the variable is not set. */
  readonly hasDefault: boolean
  /** What is wrong with it; the text is not to be used then. */
  readonly problem: string | undefined
}

/** An escaped `$${`, a whole reference, or one that is never closed. */
const REFERENCE = /\$\$\{|\$\{([^{}]*)\}|\$\{/g
const NAME = /^[A-Za-z_]\w*$/

export function fillVariables(text: string, environment: Environment): Filled {
  const references: Reference[] = []
  const filled = text.replaceAll(REFERENCE, (whole: string, inside: string | undefined) => {
    if (whole === '$${') return '${'
    const reference = readReference(inside, environment)
    references.push(reference)
    return reference.value
  })
  return {
    text: filled,
    hasVariable: references.length > 0,
    hasDefault: references.some(({ hasDefault }) => hasDefault),
    problem: findForeign(text) ?? references.find(({ problem }) => problem !== undefined)?.problem,
  }
}

/** The variables that a text refers to. */
export function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/\$\{([A-Za-z_]\w*)/g)].map(([, name = '']) => name)
}

interface Reference {
  readonly value: string
  readonly hasDefault: boolean
  readonly problem: string | undefined
}

function readReference(inside: string | undefined, environment: Environment): Reference {
  const [, name = '', fallback] = /^(.*?)(?::-(.*))?$/s.exec(inside ?? '') ?? []
  const isName = NAME.test(name)
  const value = isName ? environment[name] : undefined
  const hasDefault = Boolean(fallback)
  if (value) return { value, hasDefault, problem: undefined }
  if (isName && fallback !== undefined) return { value: fallback, hasDefault, problem: undefined }
  return { value: '', hasDefault, problem: describeReference(inside, name, value) }
}

function describeReference(inside: string | undefined, name: string, value?: string): string {
  if (inside === undefined)
    return 'has a ${ without its }: write ${NAME}, or $${ for the two characters themselves'
  if (!NAME.test(name))
    return 'has a ${ } that names no variable: write ${NAME} or ${NAME:-default}, with letters, digits and _ in the name'
  const state = value === undefined ? 'not set' : 'empty'
  return `needs the variable ${name}, which is ${state}: run \`export ${name}=…\` before the start`
}

/** How shells and other gateways refer to a variable. Taken as text it would be sent as a credential. */
function findForeign(text: string): string | undefined {
  const match = /^(?:\$|os\.environ\/|env\.|env:|%)([A-Z_][A-Z0-9_]*)%?$/.exec(text.trim())
  return match ? `names a variable in the way of another program: write \${${match[1]}}` : undefined
}
