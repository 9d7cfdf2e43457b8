// Finds the ends of JSON strings sixteen bytes at a time, which the language itself cannot. The program is
// `string-scan.wat`, translated by wat2wasm of wabt 1.0.39; a test holds it to a plain reading of the same.

const PROGRAM =
  'AGFzbQEAAAABBgFgAX8BfwMDAgAABQMBABEHEgIGbWVtb3J5AgAFZW5kT2YAAAqTAgL4AQIBewZ/A0AgAP0ABAAh' +
  'ASABQSL9D/0jIAFB3AD9D/0j/VAgAUEg/Q/9Jv1Q/WQhAgNAIAJFBEAgAEEQaiEADAILIAJoIQMgACADaiEEIAQt' +
  'AAAhBSAFQSJGBEAgBEEBakEBdCAHcg8LIAVB3ABHBEBBfyAEaw8LQQEhByAELQABIQUgBUGAAUkgBUH/AHEtAID+' +
  'Q3EEQEECIQYFIAVB9QBGIAQtAAIQASAELQADEAFxIAQtAAQQASAELQAFEAFxcXFFBEBBfyAEaw8LQQYhBgsgAyAG' +
  'aiEDIANBEE8EQCAAIANqIQAMAgsgAkF/IAN0cSECDAALCwALFwAgAEEwa0EKSSAAQSByQeEAa0EGSXILC4oBAQBB' +
  'gP7DAAuAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAQAAAAAAAAAAAAAA' +
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAAAAAAAQAAAAEAAAAAAAAAAQAAAAEAAQAAAAAAAAAA' +
  'AAAA'

/** The longest stretch of a document that can be scanned at once. */
export const STRETCH_BYTES_MAX = 1_048_576
/** As many as are looked at beyond the end. */
const ZEROS = new Uint8Array(16)

interface Exports {
  readonly memory: WebAssembly.Memory
  readonly endOf: (at: number) => number
}

const program = new WebAssembly.Module(Buffer.from(PROGRAM, 'base64'))
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the program exports
const { memory, endOf } = new WebAssembly.Instance(program).exports as unknown as Exports
const copy = new Uint8Array(memory.buffer)

/** The ticket of the stretch at hand. */
export let ticket = 0

/** Takes a stretch of a document, and returns the ticket that is good until the next one is taken. */
export function takeStretch(bytes: Uint8Array, from: number, to: number): number {
  copy.set(from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to))
  copy.set(ZEROS, to - from)
  ticket += 1
  return ticket
}

/**
 * From a place inside of a string of the stretch at hand: twice the place behind its closing quote, plus one
 * where an escape stood in between; or -1 less the place of what can stand in no string, the end included.
 */
export const endOfString: (at: number) => number = endOf
