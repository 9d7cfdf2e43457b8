// From the text of a configuration file to a configuration, or to everything that is wrong with it at
// once, in the file's order. Pure: the environment comes in as a value and no file is touched.
import { isMap, parseDocument } from 'yaml'
import { explainIssues, explainKinds } from './explain.ts'
import type { ConfigFault, ConfigPath } from './fault.ts'
import { fillTree } from './fill.ts'
import type { ConfigProblem, ConfigurationError } from './problem.ts'
import { Report } from './report.ts'
import { ConfigSchema, type Config } from './schema.ts'
import { explainDocument, explainSyntax } from './syntax.ts'
import { Text, type Place } from './text.ts'
import { findEntry, growTree } from './tree.ts'
import type { Environment } from './variables.ts'
import { findWarnings } from './warnings.ts'

export interface ConfigSource {
  /** As it is to be shown. */
  readonly file: string
  readonly text: string
  /** The permission bits of the file, where it is one. */
  readonly mode?: number
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

/** Throws a `ConfigurationError` that lists every problem. With `kinds` it also checks what suppliers are. */
export function parseConfig(
  source: ConfigSource,
  environment: Environment,
  kinds?: readonly string[],
): LoadedConfig {
  const text = new Text(source.text.replace(/^\uFEFF/, ''))
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
  const faults = findWarnings({ ...source, config: result.data, plainSecrets })
  return {
    config: result.data,
    warnings: faults.map(({ path, message }) => report.problemAt(path, message)),
    has: (path) => findEntry(tree.root, path) !== undefined,
    locate: (path) => report.locate(path),
    problemAt: (path, message) => report.problemAt(path, message),
    refuse: (faults) => report.refuseFaults(faults),
  }
}

const YAML_OPTIONS = {
  prettyErrors: false,
  stringKeys: true,
  resolveKnownTags: false,
  merge: false,
  // Anything quieter hides a second document. Nothing is printed either way.
  logLevel: 'error',
} as const
