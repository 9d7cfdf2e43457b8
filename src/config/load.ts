// From the text of a configuration file to a configuration, or to everything that is wrong with it at
// once, in the file's order. Pure: the environment comes in as a value and no file is touched.
import { isMap, parseDocument } from 'yaml'
import { explainIssues, explainKinds } from './explain.ts'
import { ConfigFault, spreadFaults, type ConfigPath } from './fault.ts'
import { fillTree } from './fill.ts'
import { ConfigurationError, type ConfigProblem } from './problem.ts'
import { Report } from './report.ts'
import { ConfigSchema, type Config } from './schema.ts'
import { explainDocument, explainSyntax } from './syntax.ts'
import { Text, type Place } from './text.ts'
import { findEntry, growTree, type Node } from './tree.ts'
import { namesIn, type Environment } from './variables.ts'
import { findWarnings } from './warnings.ts'

export interface ConfigSource {
  /** As it is to be shown. */
  readonly file: string
  readonly text: string
  /** The permission bits of the file, where it is one. */
  readonly mode?: number
}

/** What floors above know; without it any text passes. */
export interface Known {
  /** What `kind` may be. */
  readonly kinds?: readonly string[] | undefined
  /** Regions that need no explanation, in capitals. */
  readonly regions?: readonly string[] | undefined
}

export interface LoadedConfig {
  readonly config: Config
  /** What works and should still be changed. */
  readonly warnings: readonly ConfigProblem[]
  /** Whether the file itself says something at this path. */
  has(path: ConfigPath): boolean
  /** Where a path stands; where its nearest parent does, if it is not in the file. */
  locate(path: ConfigPath): Place
  problemAt(path: ConfigPath, message: string): ConfigProblem
  refuse(faults: readonly ConfigFault[]): ConfigurationError
}

/**
 * Throws a `ConfigurationError` that lists every problem. With `kinds` it also checks what suppliers are, and with
 * `regions` it warns of those that nobody knows.
 */
export function parseConfig(
  source: ConfigSource,
  environment: Environment,
  { kinds, regions }: Known = {},
): LoadedConfig {
  const text = new Text(source.text.replace(/^\uFEFF/, ''))
  checkMarks(source.file, text.whole)
  const document = parseDocument(text.whole, YAML_OPTIONS)
  const report = new Report(source.file, text)
  report.object(explainSyntax(document, text))
  report.refuse()
  report.object(explainDocument(document, text))
  if (document.contents !== null && !isMap(document.contents)) report.refuse()
  const tree = growTree(document)
  report.root = tree.root
  report.object(tree.objections)
  const { value, objections, plainSecrets } = fillTree(tree.root, environment)
  report.object(objections)
  if (kinds !== undefined) report.find(explainKinds(tree.root, kinds))
  const result = ConfigSchema.safeParse(value ?? {})
  if (!result.success) report.find(explainIssues(result.error.issues, tree.root))
  report.refuse()
  if (!result.success) throw result.error
  const faults = findWarnings({ ...source, config: result.data, plainSecrets, regions })
  return {
    config: result.data,
    warnings: faults.map(({ path, message }) => report.problemAt(path, message)),
    has: (path) => findEntry(tree.root, path) !== undefined,
    locate: (path) => report.locate(path),
    problemAt: (path, message) => report.problemAt(path, message),
    refuse: (faults) =>
      report.refuseFaults(
        spreadFaults(faults).map((fault) => hideValues(fault, tree.root, environment)),
      ),
  }
}

/** Room for some ten thousand models: each line, bracket, comma, quote and colon is one. */
const MARKS_MAX = 250_000
const MARK = /[\n,[\]{}"'%&*!]|[:?-](?=\s)/g

/** Before it is parsed: a parser takes seconds for a file of nothing but brackets. */
function checkMarks(file: string, text: string): void {
  let count = 0
  MARK.lastIndex = 0
  while (MARK.test(text)) {
    count += 1
    if (count <= MARKS_MAX) continue
    MARK.lastIndex = 0
    throw new ConfigurationError(
      `${file} has more than ${MARKS_MAX} lines, names and brackets, and a configuration has fewer. Is it the right file?`,
    )
  }
}

/** What came from a variable is nobody's to see, also where a floor above repeats the value it was given. */
function hideValues(fault: ConfigFault, root: Node, environment: Environment): ConfigFault {
  const entry = findEntry(root, fault.path.slice(0, OWNER_STEPS))
  let { message } = fault
  for (const name of entry === undefined ? [] : variablesIn(entry.node)) {
    const value = environment[name]?.trim() ?? ''
    if (value.length >= VALUE_LENGTH_MIN)
      message = message.replaceAll(new RegExp(RegExp.escape(value), 'gi'), () => `\${${name}}`)
  }
  return new ConfigFault(fault.path, message)
}

/** `suppliers.<name>`: a message may repeat the value of a neighbour. */
const OWNER_STEPS = 2
/** Shorter ones are found in any sentence. */
const VALUE_LENGTH_MIN = 4

function variablesIn(node: Node): readonly string[] {
  if (node.type === 'mapping')
    return [...node.entries.values()].flatMap((entry) => variablesIn(entry.node))
  if (node.type === 'list') return node.items.flatMap((item) => variablesIn(item))
  return typeof node.value === 'string' ? namesIn(node.value) : []
}

const YAML_OPTIONS = {
  prettyErrors: false,
  stringKeys: true,
  resolveKnownTags: false,
  merge: false,
  // Found by `explainDocument`, in one pass.
  uniqueKeys: false,
  // Anything quieter hides a second document. Nothing is printed either way.
  logLevel: 'error',
} as const
