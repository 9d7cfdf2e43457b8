// Quirks change the fields they name and not one byte beside them. What is expected is worked out on the
// text of each member, without any of the code under test.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { extra, jsonText, requestText, space } from '../../../test/fakes/json-text.ts'
import type { Quirks } from '../quirk.ts'
import { COST_FIELDS, REQUEST_FIELDS } from './fields.ts'
import { openaiChat } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

type Odd = Omit<Quirks, 'usage' | 'normalize'>

function patched(text: string, odd: Odd): string {
  const body = encoder.encode(text)
  const rewrite = { ...odd, model: 'test-model', usage: 'ask' as const }
  return decoder.decode(openaiChat.relay.patch(body, openaiChat.peek(body), rewrite))
}

const HEAD = '"model":"test-model","messages":[{"role":"user","content":"Hi"}]'

function request(members: string): string {
  return `{${HEAD}${members === '' ? '' : `,${members}`}}`
}

describe('quirks', () => {
  it.each<readonly [string, Odd, string, string]>([
    ['drops', { drop: ['user'] }, '"user":"u","x":1', '"x":1'],
    ['drops the last', { drop: ['user'] }, '"x":1 , "user" : "u"', '"x":1'],
    ['drops every spelling', { drop: ['user'] }, '"us\\u0065r":"u","user":null', ''],
    [
      'drops what the gateway only validates',
      { drop: ['temperature', 'top_p'] },
      '"temperature":1,"top_p":0.5',
      '',
    ],
    [
      'drops nothing inside',
      { drop: ['user'] },
      '"x":{"user":1},"y":"user"',
      '"x":{"user":1},"y":"user"',
    ],
    ['drops no longer name', { drop: ['user'] }, '"users":1,"use":2', '"users":1,"use":2'],
    [
      'renames',
      { rename: { stop: 'stop_sequences' } },
      '"stop" : ["a"]',
      '"stop_sequences" : ["a"]',
    ],
    ['renames an escaped name', { rename: { stop: 'end' } }, '"st\\u006fp":1', '"end":1'],
    ['renames nothing that is absent', { rename: { stop: 'end' } }, '"x":1', '"x":1'],
    ['prefers the supplier’s own name', { rename: { stop: 'end' } }, '"stop":1,"end":2', '"end":2'],
    ['renames over a null', { rename: { stop: 'end' } }, '"end":null,"stop":1', '"end":1'],
    ['adds', { default: { seed: 7 } }, '"x":1', '"x":1,"seed":7'],
    ['adds to nothing else', { default: { safe: { deep: [true] } } }, '', '"safe":{"deep":[true]}'],
    ['adds what needs escapes', { default: { 'a"b': 'c\nd' } }, '', '"a\\"b":"c\\nd"'],
    ['adds nothing that is there', { default: { seed: 7 } }, '"seed":1', '"seed":1'],
    [
      'adds nothing that is there in disguise',
      { default: { seed: 7 } },
      '"s\\u0065ed":1',
      '"s\\u0065ed":1',
    ],
    [
      'takes null for absence',
      { default: { seed: 7 } },
      '"seed" : null ,"x":1',
      '"seed" : 7 ,"x":1',
    ],
    ['fills one of two nulls', { default: { seed: 7 } }, '"seed":null,"seed":null', '"seed":7'],
    ['sees a renamed field as sent', { rename: { a: 'b' }, default: { b: 0 } }, '"a":1', '"b":1'],
    [
      'sets a field whatever the caller says',
      { drop: ['store'], default: { store: false } },
      '"store":true',
      '"store":false',
    ],
    [
      'renames a limit',
      { maxTokensName: 'max_tokens' },
      '"max_completion_tokens":5',
      '"max_tokens":5',
    ],
    [
      'renames a limit back',
      { maxTokensName: 'max_completion_tokens' },
      '"max_tokens" : 5',
      '"max_completion_tokens" : 5',
    ],
    ['keeps a limit', { maxTokensName: 'max_tokens' }, '"max_tokens":5', '"max_tokens":5'],
    [
      'keeps one of two limits',
      { maxTokensName: 'max_tokens' },
      '"max_completion_tokens":9,"max_tokens":5',
      '"max_tokens":5',
    ],
    [
      'takes a null limit for none',
      { maxTokensName: 'max_tokens' },
      '"max_tokens":null,"max_completion_tokens":5',
      '"max_tokens":5',
    ],
    ['adds no limit', { maxTokensName: 'max_tokens' }, '"x":1', '"x":1'],
  ])('%s', (_, odd, members, expected) => {
    expect(patched(request(members), odd)).toBe(request(expected))
  })

  it('go together with every other splice', () => {
    const body = encoder.encode(
      `{"region":"EU","user":"u",${HEAD},"stream":true,"metadata":{"session_id":"s"},"max_tokens":5,"stop":1}`,
    )
    const rewrite = {
      model: 'up',
      usage: 'ask' as const,
      drop: ['user'],
      rename: { stop: 'end' },
      default: { seed: 7 },
      maxTokensName: 'max_completion_tokens' as const,
    }
    expect(decoder.decode(openaiChat.relay.patch(body, openaiChat.peek(body), rewrite))).toBe(
      `{${HEAD.replace('test-model', 'up')},"stream":true,"max_completion_tokens":5,"end":1,"stream_options":{"include_usage":true},"seed":7}`,
    )
  })

  it('hand back the very same bytes when they find nothing', () => {
    const body = encoder.encode(request('"x":1'))
    const rewrite = {
      model: 'test-model',
      usage: 'ask' as const,
      drop: ['user'],
      rename: { stop: 'end' },
      maxTokensName: 'max_tokens' as const,
    }
    expect(openaiChat.relay.patch(body, openaiChat.peek(body), rewrite)).toBe(body)
  })
})

const NAMES = ['user', 'seed', 'stop', 'end', 'temperature', 'tool_choice']
const name = fc.constantFrom(...NAMES)
const quirks: fc.Arbitrary<Odd> = fc
  .record({
    drop: fc.uniqueArray(name, { maxLength: 2 }),
    pairs: fc.uniqueArray(fc.tuple(name, fc.constantFrom('end', 'other', 'random_seed')), {
      maxLength: 2,
      selector: ([, to]) => to,
    }),
    default: fc.dictionary(name, fc.constantFrom<unknown>(7, 'é"\\', { a: [null] }, false), {
      maxKeys: 2,
    }),
    maxTokensName: fc.constantFrom('max_tokens', 'max_completion_tokens', undefined),
  })
  .map(({ pairs, maxTokensName, ...odd }) => ({
    ...odd,
    rename: Object.fromEntries(pairs),
    ...(maxTokensName === undefined ? {} : { maxTokensName }),
  }))
  .filter((odd) => openaiChat.relay.findFault?.({ ...odd, usage: 'ask' }) === undefined)

interface Field {
  readonly name: string
  /** Everything from the name to the end of the value. */
  readonly text: string
}

/** The fields of an object text, cut by brackets and quotes alone. */
function cut(text: string): readonly Field[] {
  const parts = ['']
  let depth = 0
  for (const [token] of text
    .trim()
    .slice(1, -1)
    .matchAll(/"(?:[^"\\]|\\.)*"|[^"]/gs)) {
    if ('[{'.includes(token)) depth++
    if (']}'.includes(token)) depth--
    if (token === ',' && depth === 0) parts.push('')
    else parts.push(parts.pop()! + token)
  }
  return parts.map((part) => {
    const trimmed = part.trim()
    return { name: String(JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(trimmed)![0])), text: trimmed }
  })
}

/** All but the one field that every stream gets at the end, before or after what quirks add there. */
function others(text: string): readonly Field[] {
  return cut(text).filter((field) => !field.text.includes('"include_usage":true'))
}

function isNull({ text }: Field): boolean {
  return text.endsWith('null') && /:\s*null$/.test(text)
}

/** What the fields should be, in order, worked out on names alone. */
function expectedFields(fields: readonly Field[], odd: Odd): readonly Field[] {
  let list = fields.filter((field) => !(odd.drop ?? []).includes(field.name))
  const renames = Object.entries(odd.rename ?? {})
  if (odd.maxTokensName !== undefined)
    renames.push([
      odd.maxTokensName === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens',
      odd.maxTokensName,
    ])
  for (const [from, to] of renames) {
    if (!list.some((field) => field.name === from)) continue
    const isTaken = list.some((field) => field.name === to && !isNull(field))
    list = list.filter((field) => field.name !== (isTaken ? from : to))
    list = list.map((field) => (field.name === from ? renamed(field, to) : field))
  }
  for (const [key, value] of Object.entries(odd.default ?? {})) {
    const there = list.filter((field) => field.name === key)
    if (there.some((field) => !isNull(field))) continue
    const text = JSON.stringify(value)
    const [first] = there
    if (first === undefined) list = [...list, { name: key, text: `${JSON.stringify(key)}:${text}` }]
    else
      list = list.flatMap((field) => {
        if (field.name !== key) return [field]
        return field === first ? [{ name: key, text: field.text.replace(/null$/, () => text) }] : []
      })
  }
  return list
}

function renamed({ text }: Field, to: string): Field {
  return { name: to, text: text.replace(/^"(?:[^"\\]|\\.)*"/, () => JSON.stringify(to)) }
}

describe('any request with any quirks', () => {
  const member = fc
    .tuple(
      fc.constantFrom(...NAMES.filter((each) => each !== 'temperature'), 'other', 'us\\u0065r'),
      space,
      space,
      fc.oneof(jsonText, fc.constant('null')),
    )
    .map(([key, before, after, value]) => `"${key}"${before}:${after}${value}`)
  const body = fc
    .tuple(requestText, fc.array(fc.oneof(member, extra), { maxLength: 4 }), space)
    .map(([text, members, gap]) => {
      const end = text.lastIndexOf('}')
      return `${text.slice(0, end)}${members.map((each) => `${gap},${each}`).join('')}${text.slice(end)}`
    })

  it('keeps every other field byte for byte, in order and once', () => {
    fc.assert(
      fc.property(body, quirks, (text, odd) => {
        const result = patched(text, odd)
        expect(others(result)).toEqual([...expectedFields(others(patched(text, {})), odd)])
        expect(() => JSON.parse(result)).not.toThrow()
      }),
      { numRuns: 600 },
    )
  })
})

describe('a quirk that cannot be', () => {
  const findFault = (odd: Odd) => openaiChat.relay.findFault?.({ ...odd, usage: 'ask' })
  const FREE = ['temperature', 'top_p', 'tools', 'response_format', 'reasoning_effort', 'reasoning']
  const DROPPABLE: readonly string[] = ['service_tier', ...COST_FIELDS]

  it.each(REQUEST_FIELDS.filter((field) => !FREE.includes(field)))('touches %s', (field) => {
    const path = DROPPABLE.includes(field) ? undefined : ['drop', 0]
    expect(findFault({ drop: [field] })?.path).toEqual(path)
    expect(findFault({ rename: { [field]: 'x' } })?.path).toEqual(['rename', field])
    expect(findFault({ default: { [field]: 1 } })?.path).toEqual(['default', field])
  })

  it.each([...REQUEST_FIELDS, 'Model', 'MESSAGES', 'ſtream'])('makes a field %s', (field) => {
    expect(findFault({ rename: { x: field } })?.path).toEqual(['rename', 'x'])
  })

  it.each<readonly [string, Odd]>([
    ['has another case of a field that is read', { drop: ['Model'] }],
    ['gives two fields one name', { rename: { a: 'c', b: 'c' } }],
    ['renames a field to one that is renamed', { rename: { a: 'b', b: 'c' } }],
    ['renames a field to itself', { rename: { a: 'a' } }],
    ['renames what it drops', { rename: { a: 'b' }, drop: ['a'] }],
    ['makes what it drops', { rename: { a: 'b' }, drop: ['b'] }],
  ])('%s', (_, odd) => {
    expect(findFault(odd)?.message).toMatch(/^(names|makes) /)
  })

  it('says what to set instead', () => {
    expect(findFault({ drop: ['max_tokens'] })?.message).toContain('max_tokens_name')
    expect(findFault({ drop: ['stream_options'] })?.message).toContain('usage')
    expect(findFault({ rename: { model: 'm' } })?.message).toContain('`as`')
  })

  it('leaves alone what callers only pass through', () => {
    const odd = {
      drop: ['user', 'temperature', 'top_p', 'service_tier', 'tools', 'response_format'],
      rename: { stop: 'stop_sequences' },
      default: { safe_prompt: true, temperature: 1 },
      maxTokensName: 'max_tokens',
    } as const
    expect(findFault(odd)).toBeUndefined()
  })
})
