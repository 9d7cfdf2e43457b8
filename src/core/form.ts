// A form as it was sent: a few short fields, and at most one file, of which only parts are ever in memory.

/** A form that was sent, with at most one file in it. */
export interface Form {
  /** Of a name that comes twice, the last; names as they were sent. */
  readonly fields: ReadonlyMap<string, string>
  /** All fields in their order: a name may come more than once, and order may matter. */
  readonly entries: readonly (readonly [name: string, value: string])[]
  readonly file: FormFile | undefined
  /** The name of the part that is the file. */
  readonly fileField: string | undefined
}

/** A file of a form: in memory, or on disk if it is large. */
export interface FormFile {
  readonly name: string
  readonly type: string
  readonly bytes: number
  /** The first bytes, by which its format is known. */
  readonly head: Uint8Array
  /** Some bytes of it; fewer where it ends before. */
  read(from: number, length: number): Promise<Uint8Array>
}
