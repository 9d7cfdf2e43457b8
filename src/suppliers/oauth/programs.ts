// Native programs that keep their own sign-in in a file of whoever uses them: where that file is. What stands in it is
// read by whoever takes it over.

export interface Program {
  readonly name: string
  /** Names the folder, where it is set. */
  readonly variable: string
  /** In the folder of the user, where it is not. */
  readonly folder: string
  readonly file: string
}

/** Seen 2026-11. */
export const programs: readonly Program[] = [
  { name: 'Codex', variable: 'CODEX_HOME', folder: '.codex', file: 'auth.json' },
]
