// Which addresses a supplier may have. A gateway holds everyone's keys, so neither a typo nor a stolen
// console may turn it into a way to the machine's own network: what is not plainly public needs a word
// from the operator, and what hands out credentials of the machine is refused even then.

export interface AddressRules {
  /** Plain http and addresses of private networks are meant. */
  readonly allowPrivate: boolean
}

/** An address that may be called. */
export interface Origin {
  /** Scheme, host and port. */
  readonly origin: string
  /** A name or an IP address, without brackets. */
  readonly host: string
  /** The path in front of every service's own; empty, or without a slash at its end. */
  readonly prefix: string
}

/** Why an address may not be called, as what follows the name of the field. */
export interface OriginFault {
  readonly reason: string
}

/** `never` is what no gateway has any business with: credentials of the machine, or nobody at all. */
export type Reach = 'public' | 'private' | 'never'

const EXAMPLE = 'such as https://api.example.com'
const ORIGIN = /^https?:\/\/([^/]+)(\/.*)?$/i
const PREFIX = /^(?:\/[\w.~-]+)*\/*$/

/** The text is never quoted: a credential may stand in it. */
export function checkOrigin(text: string, rules: AddressRules): Origin | OriginFault {
  const spelling = checkSpelling(text)
  if (spelling !== undefined) return { reason: spelling }
  const url = URL.canParse(text) ? new URL(text) : undefined
  const [, authority, path = ''] = ORIGIN.exec(text) ?? []
  if (url === undefined || authority === undefined)
    return { reason: `is no address: write scheme and host, ${EXAMPLE}` }
  const roundabout = checkParts(authority, path, url)
  if (roundabout !== undefined) return { reason: roundabout }
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  const refusal = checkReach(reachOf(host), url.protocol === 'https:', rules)
  if (refusal !== undefined) return { reason: refusal }
  return { origin: url.origin, host, prefix: url.pathname.replace(/\/+$/, '') }
}

/** What parsers quietly repair, and do not all repair in the same way. */
function checkSpelling(text: string): string | undefined {
  if (/[\s\\\p{Cc}]/u.test(text)) return 'holds white space, a control character or a backslash'
  if (/[^\x20-\x7e]/.test(text))
    return 'holds a letter beyond ASCII: write the name as it is registered (xn--…)'
  if (/[?#]/.test(text)) return 'has a query or a fragment: write scheme, host and path alone'
  if (/^[^/]*:\/\/[^/]*@/.test(text))
    return 'holds a user or a password: credentials go to `credential`'
  return undefined
}

function checkParts(authority: string, path: string, url: URL): string | undefined {
  if (!isPlainHost(authority, url))
    return 'spells its host in a roundabout way: write a plain name, or an IP address in its usual form'
  if (!PREFIX.test(path) || url.pathname !== (path || '/'))
    return 'has a path that is no plain prefix: write one such as /v1, or none'
  return undefined
}

/** True when the host stands there as it will be called; this alone ends decimal and octal addresses. */
function isPlainHost(authority: string, url: URL): boolean {
  if (authority.startsWith('[')) return true
  const written = authority.replace(/:\d*$/, '').toLowerCase()
  return written === url.hostname && !written.endsWith('.') && /^[a-z0-9._-]+$/.test(written)
}

function checkReach(reach: Reach, isEncrypted: boolean, rules: AddressRules): string | undefined {
  if (reach === 'never')
    return 'is an address that hands out credentials of the machine, or that nobody can be called at'
  if (rules.allowPrivate) return undefined
  if (reach === 'private')
    return 'is an address of this machine or of a private network: set `allow_private: true` where that is meant'
  return isEncrypted
    ? undefined
    : 'is not https, and the credential would travel in the open: write https://, or set `allow_private: true` for a server of your own'
}

/** Whether an IP address that a name led to may be called. */
export function isAllowed(address: string, { allowPrivate }: AddressRules): boolean {
  const reach = isIpAddress(address) ? reachOf(address) : 'never'
  return reach === 'public' || (allowPrivate && reach === 'private')
}

/** True for what needs no look-up. */
export function isIpAddress(host: string): boolean {
  return readIpv4(host) !== undefined || readIpv6(host) !== undefined
}

/** How far away an IP address or a name is, as far as it tells by itself. */
export function reachOf(host: string): Reach {
  const ipv4 = readIpv4(host)
  if (ipv4 !== undefined) return reachOfIpv4(ipv4)
  if (host.includes(':')) return reachOfIpv6(readIpv6(host))
  return reachOfName(host.toLowerCase())
}

// Names under which clouds hand credentials to whoever runs on a machine.
const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.tencentyun.com',
  'metadata.packet.net',
  'metadata.platformequinix.com',
  'instance-data',
  'instance-data.ec2.internal',
])
const PRIVATE_ENDINGS =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|home|lan|svc|test|invalid|example|home\.arpa)$/

function reachOfName(name: string): Reach {
  if (METADATA_NAMES.has(name)) return 'never'
  // One word alone is a machine nearby: public names have a dot.
  return !name.includes('.') || PRIVATE_ENDINGS.test(name) ? 'private' : 'public'
}

type Range = readonly [base: string, bits: number]

// IANA's registry of special addresses, and what clouds have put among the ordinary ones.
const NEVER_IPV4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['169.254.169.254', 32],
  ['169.254.169.253', 32],
  ['169.254.170.2', 32],
  ['169.254.170.23', 32],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
]
const PRIVATE_IPV4: readonly Range[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
]

function reachOfIpv4(address: number): Reach {
  const isIn = ([base, bits]: Range): boolean => {
    const first = readIpv4(base) ?? 0
    return address >= first && address < first + 2 ** (32 - bits)
  }
  if (NEVER_IPV4.some(isIn)) return 'never'
  return PRIVATE_IPV4.some(isIn) ? 'private' : 'public'
}

/** Four decimal numbers; undefined for every other spelling. */
function readIpv4(text: string): number | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  const parts = match?.slice(1).map(Number)
  if (parts === undefined || parts.some((part) => part > 255)) return undefined
  return parts.reduce((sum, part) => sum * 256 + part, 0)
}

const METADATA_IPV6 = new Set(['fd00:ec2:0:0:0:0:0:254', 'fd00:ec2:0:0:0:0:0:23'])

function reachOfIpv6(words: readonly number[] | undefined): Reach {
  if (words === undefined) return 'never'
  if (METADATA_IPV6.has(words.map((word) => word.toString(16)).join(':'))) return 'never'
  const inner = embeddedIpv4(words)
  if (inner !== undefined) return reachOfIpv4(inner)
  if (words.slice(0, 6).every((word) => word === 0)) return reachOfLowIpv6(words)
  if (words[0]! >= 0xff00) return 'never'
  return isOrdinaryIpv6(words) ? 'public' : 'private'
}

/** Of all blocks only one is in public use, and parts of it are for protocols and for documents. */
function isOrdinaryIpv6([first = 0, second = 0]: readonly number[]): boolean {
  if (first < 0x2000 || first >= 0x4000) return false
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8
  return first !== 0x3fff || second >= 0x1000
}

/** `::`, `::1`, and a form of IPv4 addresses that nobody has used for twenty years. */
function reachOfLowIpv6(words: readonly number[]): Reach {
  const low = lastIpv4(words)
  if (low === 0) return 'never'
  return low !== 1 && reachOfIpv4(low) === 'never' ? 'never' : 'private'
}

/** The IPv4 address that a mapped, a translated (NAT64) or a tunnelled (6to4) one leads to. */
function embeddedIpv4(words: readonly number[]): number | undefined {
  const [first = 0, second = 0, third = 0] = words
  const isBlank = (from: number, to: number): boolean =>
    words.slice(from, to).every((word) => word === 0)
  const isMapped = isBlank(0, 5) && words[5] === 0xffff
  const isTranslated = first === 0x64 && second === 0xff9b && isBlank(2, 6)
  if (isMapped || isTranslated) return lastIpv4(words)
  return first === 0x2002 ? second * 0x10000 + third : undefined
}

function lastIpv4(words: readonly number[]): number {
  return (words[6] ?? 0) * 0x10000 + (words[7] ?? 0)
}

/** The eight words; undefined for what is no IPv6 address, one with a zone included. */
function readIpv6(text: string): readonly number[] | undefined {
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  const ipv4 = tail === null ? undefined : readIpv4(tail[2]!)
  if (tail !== null && ipv4 === undefined) return undefined
  const plain =
    ipv4 === undefined
      ? text
      : `${tail![1]!}${Math.floor(ipv4 / 0x10000).toString(16)}:${(ipv4 % 0x10000).toString(16)}`
  const halves = plain.split('::')
  const [head = [], rest = []] = halves.map((half) => (half === '' ? [] : half.split(':')))
  if (halves.length > 2 || ![...head, ...rest].every((word) => /^[0-9a-f]{1,4}$/i.test(word)))
    return undefined
  const gap = 8 - head.length - rest.length
  if (halves.length === 2 ? gap < 1 : gap !== 0) return undefined
  const zeros = Array.from({ length: gap }, () => '0')
  return [...head, ...zeros, ...rest].map((word) => Number.parseInt(word, 16))
}
