// Charges beyond a hold, which an operator may want: a grant that could not know of one yet is excused for it.

/** Records that may lie between such a charge and a grant that could not know of it yet. */
const COMMIT_RECORDS = 4096

export class Excess {
  /** Of the last one. */
  #number = -Infinity
  #amount = 0n

  add(number: number, amount: bigint): void {
    this.#amount = this.#isRecent(number) ? this.#amount + amount : amount
    this.#number = number
  }

  excuses(number: number, beyond: bigint): boolean {
    return this.#isRecent(number) && beyond <= this.#amount
  }

  #isRecent(number: number): boolean {
    return number - this.#number <= COMMIT_RECORDS
  }
}
