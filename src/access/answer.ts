// An answer as it is kept for a twin: its status and headers on one line, and its bytes as they were sent.

export interface AnswerHead {
  readonly status: number
  /** Those that mean the same whenever they are shown: no request ids, no rates. */
  readonly headers: Readonly<Record<string, string>>
}

export interface KeptAnswer extends AnswerHead {
  readonly body: Uint8Array
}

const LF = 0x0a

export function packAnswer(
  { status, headers }: AnswerHead,
  body: readonly Uint8Array[],
): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ status, headers })}\n`), ...body])
}

/** The print of `packAnswer`: what was sealed is what was packed. */
export function unpackAnswer(packed: Uint8Array): KeptAnswer {
  const end = packed.indexOf(LF)
  const text = new TextDecoder().decode(packed.subarray(0, end))
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its own print, read back
  const head = JSON.parse(text) as AnswerHead
  return { ...head, body: packed.subarray(end + 1) }
}
