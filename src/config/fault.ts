// What is wrong with a configuration, found on a floor that knows no file: where it stands in the tree of
// the file, and what to write instead. Whoever has the file adds line and column.

export type ConfigPath = readonly (string | number)[]

export class ConfigFault extends Error {
  override readonly name = 'ConfigFault'
  readonly path: ConfigPath

  constructor(path: ConfigPath, message: string) {
    super(message)
    this.path = path
  }
}
