// What a supplier must get of a caller's text, worked out token by token: each token as it was spelled,
// and the white space between tokens wherever no splice stands.
import { expect } from 'bun:test'

interface Token {
  readonly text: string
  /** White space in front of it; undefined where a splice may have changed it. */
  readonly space: string | undefined
}

interface Member {
  readonly name: string
  readonly from: number
  readonly value: number
  readonly to: number
}

const TOKEN = /([ \t\r\n]*)("(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+)/gsu

function tokensOf(text: string): Token[] {
  const tokens = [...text.matchAll(TOKEN)].map(([, before = '', token = '']) => ({
    text: token,
    space: before,
  }))
  // The end is a token too: white space may stand before it.
  return [...tokens, { text: '', space: text.slice(text.trimEnd().length) }]
}

/** The position after the value that begins here. */
function skipValue(tokens: readonly Token[], at: number): number {
  let depth = 0
  for (let index = at; ; index++) {
    const { text } = tokens[index]!
    if (text === '{' || text === '[') depth++
    if (text === '}' || text === ']') depth--
    if (depth === 0) return index + 1
  }
}

function membersOf(tokens: readonly Token[], at: number): Member[] {
  const members: Member[] = []
  let index = at + 1
  while (tokens[index]!.text !== '}') {
    const to = skipValue(tokens, index + 2)
    members.push({
      name: String(JSON.parse(tokens[index]!.text)),
      from: index,
      value: index + 2,
      to,
    })
    index = tokens[to]!.text === ',' ? to + 1 : to
  }
  return members
}

/** Rewrites one object and whatever objects inside of it are named. */
function rewriteObject(
  tokens: readonly Token[],
  at: number,
  rewrite: (member: Member) => readonly Token[] | undefined,
  added: { readonly first?: string; readonly last?: string } = {},
): Token[] {
  const result: Token[] = [tokens[at]!]
  const insert = (text: string): void => void result.push(...tokensOf(text).slice(0, -1).map(loose))
  let isCut = false
  if (added.first !== undefined) insert(added.first)
  for (const member of membersOf(tokens, at)) {
    const value = rewrite(member)
    if (value === undefined) isCut = true
    else {
      const [name, colon] = [tokens[member.from]!, tokens[member.from + 1]!]
      const comma = tokens[member.from - 1]!
      const isOld = comma.text === ',' && !isCut
      if (result.length > 1) result.push(isOld ? comma : { text: ',', space: undefined })
      result.push(isCut ? loose(name) : name, colon, ...value)
      isCut = false
    }
  }
  const isEmpty = result.length === 1
  if (added.last !== undefined) insert(isEmpty ? added.last : `,${added.last}`)
  const close = tokens[skipValue(tokens, at) - 1]!
  const isLoose = isCut || added.last !== undefined || tokens[at + 1] === close
  return [...result, isLoose ? loose(close) : close]
}

function loose({ text }: Token): Token {
  return { text, space: undefined }
}

function expectedTokens(sent: string): Token[] {
  const tokens = tokensOf(sent)
  const members = membersOf(tokens, 0)
  const find = (name: string) => members.find((member) => member.name === name)
  const valueOf = (name: string) => tokens[find(name)?.value ?? -1]?.text
  const isStream = valueOf('stream') === 'true'
  const options = find('stream_options')
  const rewrite = (member: Member): readonly Token[] | undefined => {
    const value = tokens.slice(member.value, member.to)
    if (member.name === 'model') return [{ text: '"upstream-model"', space: value[0]!.space }]
    if (member.name === 'region') return undefined
    if (member.name === 'metadata') return withoutOwn(tokens, member)
    if (member.name === 'stream_options' && isStream) return withUsage(tokens, member)
    return value
  }
  const last =
    isStream && options === undefined ? '"stream_options":{"include_usage":true}' : undefined
  const end = tokens.at(-1)!
  return [...rewriteObject(tokens, 0, rewrite, last === undefined ? {} : { last }), end]
}

function withoutOwn(tokens: readonly Token[], metadata: Member): readonly Token[] | undefined {
  if (tokens[metadata.value]!.text !== '{') return tokens.slice(metadata.value, metadata.to)
  const members = membersOf(tokens, metadata.value)
  const isOwn = ({ name }: Member): boolean => name === 'session_id' || name === 'sticky_key'
  if (members.length > 0 && members.every(isOwn)) return undefined
  return rewriteObject(tokens, metadata.value, (member) =>
    isOwn(member) ? undefined : tokens.slice(member.value, member.to),
  )
}

function withUsage(tokens: readonly Token[], options: Member): readonly Token[] {
  const first = tokens[options.value]!
  if (first.text !== '{')
    return tokensOf('{"include_usage":true}')
      .slice(0, -1)
      .map((token, index) => (index === 0 ? { ...token, space: first.space } : token))
  const members = membersOf(tokens, options.value)
  const has = members.some(({ name }) => name === 'include_usage')
  return rewriteObject(
    tokens,
    options.value,
    (member) => {
      const value = tokens.slice(member.value, member.to)
      return member.name === 'include_usage' ? [{ text: 'true', space: value[0]!.space }] : value
    },
    has ? {} : { first: '"include_usage":true' },
  )
}

/** Every token as it was spelled, and every gap that no splice touches as it was. */
export function expectRelayed(sent: string, received: string): void {
  expect(() => void JSON.parse(received)).not.toThrow()
  const expected = expectedTokens(sent)
  const found = tokensOf(received)
  expect(found.map(({ text }) => text)).toEqual(expected.map(({ text }) => text))
  expect(
    found.map(({ space }, index) => (expected[index]!.space === undefined ? '?' : space)),
  ).toEqual(expected.map(({ space }) => space ?? '?'))
}
