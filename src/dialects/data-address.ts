// Addresses that hold the data itself, and the names of files that have none.
import type { Source } from '../core/chat.ts'
import { invalid } from '../core/problem.ts'

const SCHEME_LENGTH_MAX = 32
const ADDRESS = /^\s*[a-z][a-z+.-]*:/i
const INLINE = /^\s*data:/i
/** Longer than the head of any address of data that is meant: the rest is megabytes. */
const HEAD_LENGTH_MAX = 512
const BASE64 = /^\s*data:([^;,]*)[^,]*;\s*base64\s*$/i

export function readAddress(url: string, param: string): Source {
  if (!INLINE.test(url.slice(0, SCHEME_LENGTH_MAX))) return { kind: 'url', url }
  const comma = url.slice(0, HEAD_LENGTH_MAX).indexOf(',')
  const mediaType = comma < 0 ? undefined : BASE64.exec(url.slice(0, comma))?.[1]
  if (mediaType === undefined)
    throw invalid(
      param,
      `\`${param}\` must be an http or https address, or an address of data in base64.`,
    )
  return { kind: 'data', mediaType, data: url.slice(comma + 1) }
}

/** An address of data, an address of the file, or the data itself. */
export function readData(data: string, param: string): Source {
  return ADDRESS.test(data.slice(0, SCHEME_LENGTH_MAX))
    ? readAddress(data, param)
    : { kind: 'data', mediaType: '', data }
}

export function printData(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`
}

/** Makers refuse a file of data without a name, and complain of another field (openai/openai-agents-python#1513, seen 2026-11). */
const NAMELESS = 'unnamed.pdf'

export function printFileName(name: string | undefined): string {
  return name ?? NAMELESS
}

export function findFileName(name: string | undefined): string | undefined {
  return name === NAMELESS ? undefined : name
}
