// A state of the books that cannot be. It is never mended in silence: whoever sees one stops the process,
// because everything that would be written after it is in doubt.

export class LedgerFault extends Error {
  /** Of the record that shows it. */
  readonly requestId: string | undefined

  constructor(what: string, requestId?: string) {
    super(requestId === undefined ? what : `${what} (${requestId})`)
    this.name = 'LedgerFault'
    this.requestId = requestId
  }
}

export function assertLedger(
  condition: boolean,
  what: string,
  requestId?: string,
): asserts condition {
  if (!condition) throw new LedgerFault(what, requestId)
}
