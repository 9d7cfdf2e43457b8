// Counting tokens: exact where the vocabulary is known, never too few, never for longer than allowed, and
// at no price until somebody asks. The Worker is the real one, time is not.
import { afterAll, afterEach, describe, expect, it } from 'bun:test'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { countTokens as countCl100k } from 'vocabularies/encoding/cl100k_base'
import { countTokens as countO200k } from 'vocabularies/encoding/o200k_base'
import { countTokens as countOlder } from 'vocabularies/encoding/p50k_base'
import { createFakeClock, type FakeClock } from '../../../test/fakes/clock.ts'
import { NO_LOAD, type Load, type Span } from '../../core/load.ts'
import { createCounter, startCounting, type Counter, type Uncounted } from './counter.ts'

interface House {
  readonly counter: Counter
  readonly clock: FakeClock
  /** Those that were started, in order. */
  readonly workers: readonly Worker[]
}

/** For what has nothing to do with time or Workers. */
const counter = createCounter({ clock: createFakeClock() })
const opened: Counter[] = []

afterAll(() => counter.close())

afterEach(() => {
  for (const counter of opened.splice(0)) counter.close()
})

function open(start: () => Worker = startCounting): House {
  const clock = createFakeClock()
  const workers: Worker[] = []
  const counter = createCounter({
    clock,
    start() {
      const worker = start()
      workers.push(worker)
      return worker
    },
  })
  opened.push(counter)
  return { counter, clock, workers }
}

function loadOf(body: Uint8Array, inline: readonly Span[] = []): Load {
  return { ...NO_LOAD, bytes: body.length, messages: 1, images: inline.length, inline }
}

type Tokenizer = Parameters<Counter['count']>[2]

function count(
  counter: Counter,
  text: string,
  tokenizer: Tokenizer = 'o200k',
  keyId = 'key_1',
): Promise<number | Uncounted> {
  const body = new TextEncoder().encode(text)
  return counter.count(body, loadOf(body), tokenizer, keyId)
}

async function countForOthers(text: string): Promise<number> {
  const body = new TextEncoder().encode(text)
  return Number(await counter.count(body, loadOf(body), undefined, 'key_1'))
}

/** A token that steers a model counts as the text that it is spelled with. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

const SIGNS = `the quick brown Fox, JUMPS over 1234567 lazy dogs; it's "fine" & they'LL say so!
  \t\r\n(){}[]<>/\\|=+-_*#@~^$%.:äöüßéñçøÅЖдравствуй日本語の文章中文한국어ไทยहिन्दीગુજરાતીعربى😀🎉👩‍👧́‿①½ǅ\u{10ffff}`

const WORDS = ['function', ' return', 'XMLHttpRequest', '        ', '\n\n', '<|endoftext|>']

const anyText = fc
  .array(fc.constantFrom(...Array.from(SIGNS), ...WORDS), { maxLength: 200 })
  .map((parts) => parts.join(''))

describe('the count', () => {
  // The first three are the maker's own examples (its cookbook, "How to count tokens with tiktoken").
  it.each([
    ['antidisestablishmentarianism', 6, 6],
    ['2 + 2 = 4', 7, 7],
    ['お誕生日おめでとう', 8, 9],
    ['', 0, 0],
    ["We'll say: it's 3.14159, isn't it?", 13, 16],
    ["CAN'TALL WE'RED", 7, 6],
    ['હેલો, મારું નામ', 6, 25],
    ['\t\tif (x === null) {\n\t\t\treturn undefined\n\t\t}\n', 15, 15],
  ])('of %j is %i tokens, or %i of the older vocabulary', async (text, o200k, cl100k) => {
    expect(await count(counter, text, 'o200k')).toBe(o200k)
    expect(await count(counter, text, 'cl100k')).toBe(cl100k)
  })

  it('is that of another implementation for any text', async () => {
    // Without a quote it is one stretch, so nothing is added.
    const unquoted = anyText.map((text) => text.replaceAll('"', ''))
    await fc.assert(
      fc.asyncProperty(unquoted, async (text) => {
        expect(await count(counter, text, 'o200k')).toBe(countO200k(text, AS_TEXT))
        expect(await count(counter, text, 'cl100k')).toBe(countCl100k(text, AS_TEXT))
      }),
      { numRuns: 300 },
    )
  })

  it('is no less than the tokens of all strings of the body, however they are spelled', async () => {
    const spelled = fc.array(fc.tuple(anyText, fc.boolean()), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(spelled, async (strings) => {
        const body = `{"messages":[${strings.map(([text, isEscaped]) => spell(text, isEscaped)).join()}]}`
        const tokens = await count(counter, body)
        const shown = strings.reduce((sum, [text]) => sum + countO200k(text, AS_TEXT), 0)
        expect(tokens).toBeGreaterThan(shown)
        expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(body))
      }),
      { numRuns: 100 },
    )
  })

  it('knows a quote in a string from its end', async () => {
    const tokens = countO200k(String.raw`say \"hello\" now`)
    expect(await count(counter, String.raw`"say \"hello\" now"`)).toBe(tokens + 2)
    expect(await count(counter, String.raw`"say \\",2`)).toBe(
      countO200k(String.raw`say \\`) + 1 + 2,
    )
  })

  it('does not fall where escapes have fewer tokens than what they stand for', async () => {
    const text = '\uabcd'.repeat(100)
    const body = spell(text, true)
    expect(countO200k(body, AS_TEXT)).toBeLessThan(countO200k(text, AS_TEXT))
    expect(await count(counter, body)).toBe(countO200k(text, AS_TEXT) + 2)
  })

  it('takes a string that nobody can read by its bytes', async () => {
    expect(await count(counter, String.raw`"all \x of it`)).toBe(12 + 1)
    expect(await count(counter, '"all of it\\')).toBe(10 + 1)
  })

  it('takes a word without an end by its bytes, and a long one as it is', async () => {
    expect(await count(counter, 'a'.repeat(32_768))).toBe(4096)
    expect(await count(counter, 'a'.repeat(32_769))).toBe(32_769)
    expect(await count(counter, '日'.repeat(10_923))).toBe(32_769)
    expect(await count(counter, 'a'.repeat(8_388_608))).toBe(8_388_608)
  })

  it('leaves out what is no text', async () => {
    const picture = 'data:image/png;base64,iVBORw0KGgo='
    const body = new TextEncoder().encode(`["one","${picture}","two","${picture}"]`)
    const first = new TextDecoder().decode(body).indexOf(picture)
    const last = new TextDecoder().decode(body).lastIndexOf(picture)
    const inline = [first, last].map((from) => ({ from, to: from + picture.length }))
    const without = Number(await count(counter, '["one","","two",""]'))
    expect(without).toBeGreaterThan(4)
    expect(await counter.count(body, loadOf(body, inline), 'o200k', 'key_1')).toBe(without)
  })

  it('never exceeds the bytes, not even those that are no text in any script', async () => {
    const body = new Uint8Array(1000).fill(0xff)
    expect(await counter.count(body, loadOf(body), undefined, 'key_1')).toBe(1000)
  })
})

describe('the count for a vocabulary that is not at hand', () => {
  it.each([
    ['prose', 'The quick brown fox jumps over the lazy dog, and nobody minds at all. '],
    ['code', 'export function close(): void {\n    for (const each of all) each.leave()\n}\n'],
    ['digits', '3141592653589793 '],
    ['tabs', '\t\t\t\t\t\t\t\tx\n\n\n\n'],
    ['German', 'Die Veränderungen für größere Häuser können später überprüft werden. '],
    ['Russian', 'Мы должны проверить изменения в системе позже. '],
    ['Thai', 'ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน '],
    ['Gujarati', 'હેલો, મારું નામ જીપીટી છે. '],
  ])('covers a much smaller one: %s', async (_, text) => {
    const many = text.repeat(20)
    const tokens = await countForOthers(many)
    expect(tokens).toBeGreaterThanOrEqual(countOlder(many, AS_TEXT))
    expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(many))
  })

  it('is about twice ours for prose, so that a budget is not refused for nothing', async () => {
    const prose = 'The quick brown fox jumps over the lazy dog and nobody minds at all. '.repeat(50)
    const tokens = await countForOthers(prose)
    expect(tokens / countO200k(prose)).toBeWithin(1.9, 2.2)
  })
})

describe('a question', () => {
  it('starts nothing before it is asked, and one Worker for all of them', async () => {
    const { counter, workers, clock } = open()
    expect(workers).toHaveLength(0)
    expect(clock.listeners()).toBe(0)
    const texts = ['one', 'one two', 'one two three']
    expect(await Promise.all(texts.map((text) => count(counter, text)))).toEqual([1, 2, 3])
    expect(workers).toHaveLength(1)
  })

  it('is not taken on where the text is beyond any window, whatever is inline', async () => {
    const { counter, workers } = open()
    const body = new Uint8Array(8 * 1024 * 1024 + 1).fill(97)
    expect(await counter.count(body, loadOf(body), 'o200k', 'key_1')).toBe('final')
    expect(workers).toHaveLength(0)
    const inline = [{ from: 0, to: body.length - 8 }]
    expect(await counter.count(body, loadOf(body, inline), 'o200k', 'key_1')).toBe(1)
  })

  it('is given up after a second, and its Worker with it, even one that listens to nobody', async () => {
    const { counter, workers, clock } = open(() => new Worker('for (;;) {}', { eval: true }))
    const answer = count(counter, 'hello')
    const ended = once(workers[0]!, 'exit')
    clock.advance(999)
    clock.advance(1)
    expect(await answer).toBe('late')
    await ended
    expect(clock.listeners()).toBe(0)
  })

  it('is answered after one that took too long', async () => {
    const { counter, workers, clock } = open()
    const first = count(counter, 'one')
    clock.advance(1000)
    expect(await first).toBe('late')
    expect(await count(counter, 'one two')).toBe(2)
    expect(workers).toHaveLength(2)
  })

  it('waits behind others for no longer than it may take itself', async () => {
    const { counter, workers, clock } = open()
    const first = count(counter, 'one')
    clock.advance(500)
    const second = count(counter, 'one two')
    const third = count(counter, 'one two three')
    clock.advance(400)
    const last = count(counter, 'one two three four')
    // The first is given up; half a second is left to those behind it, which is enough to start again.
    clock.advance(100)
    expect(await Promise.all([first, second, third, last])).toEqual(['late', 2, 3, 4])
    expect(workers).toHaveLength(2)
  })

  it('starts no Worker for the little time that is left', async () => {
    const { counter, workers, clock } = open()
    const first = count(counter, 'one')
    clock.advance(100)
    const second = count(counter, 'one two')
    clock.advance(900)
    expect(await Promise.all([first, second])).toEqual(['late', 'late'])
    expect(workers).toHaveLength(1)
    expect(clock.listeners()).toBe(0)
  })

  it('is refused at once where 32 are waiting', async () => {
    const { counter, clock } = open()
    const taken = Array.from({ length: 33 }, (_, index) =>
      count(counter, ' one'.repeat(index + 1), 'o200k', `key_${index}`),
    )
    expect(await count(counter, 'one too many', 'o200k', 'key_33')).toBe('late')
    expect(await Promise.all(taken)).toEqual(taken.map((_, index) => index + 1))
    // What remains is the Worker's own time.
    expect(clock.listeners()).toBe(1)
  })

  it('is refused at once where four of its key are waiting, and that of another key is not', async () => {
    const { counter } = open()
    const greedy = Array.from({ length: 9 }, () => count(counter, 'one'))
    const other = count(counter, 'one two', 'o200k', 'key_2')
    expect(await Promise.all(greedy)).toEqual([1, 1, 1, 1, 1, 'late', 'late', 'late', 'late'])
    expect(await other).toBe(2)
    expect(await count(counter, 'one')).toBe(1)
  })

  it('takes its turn with those of other keys, however many these ask', async () => {
    const { counter } = open()
    const order: string[] = []
    const ask = async (keyId: string): Promise<void> => {
      await count(counter, 'one', 'o200k', keyId)
      order.push(keyId)
    }
    const keys = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c']
    await Promise.all(keys.map(ask))
    expect(order.join('')).toBe('aabcabaa')
  })

  it('that is given up while it waits leaves its place to the next of its key', async () => {
    const { counter, clock } = open()
    const first = count(counter, 'one')
    const waiting = Array.from({ length: 4 }, () => count(counter, 'one'))
    expect(await count(counter, 'one')).toBe('late')
    clock.advance(1000)
    expect(await Promise.all([first, ...waiting])).toEqual(['late', 'late', 'late', 'late', 'late'])
    const again = Array.from({ length: 5 }, () => count(counter, 'one two'))
    expect(await Promise.all(again)).toEqual([2, 2, 2, 2, 2])
    expect(clock.listeners()).toBe(1)
  })

  it('is not answered by a Worker that died, and the next is by another', async () => {
    const { counter, workers, clock } = open()
    const lost = count(counter, 'one')
    const next = count(counter, 'one two')
    await workers[0]!.terminate()
    expect(await Promise.all([lost, next])).toEqual(['late', 2])
    expect(workers).toHaveLength(2)
    expect(clock.listeners()).toBe(1)
  })

  it('is not answered where no Worker can be had', async () => {
    const { counter } = open(() => {
      throw new Error('no threads left')
    })
    expect(await count(counter, 'one')).toBe('late')
    const broken = open(() => new Worker('throw new Error("no file")', { eval: true }))
    expect(await count(broken.counter, 'one')).toBe('late')
  })
})

describe('a measure', () => {
  function measure(counter: Counter, text: string, keyId = 'key_1'): Promise<number | 'late'> {
    const body = new TextEncoder().encode(text)
    return counter.measure(body, loadOf(body), undefined, keyId)
  }

  it('counts every string as it reads, and by a vocabulary of ours where there is no other', async () => {
    const escaped = `{"a":"${'\\u0068\\u0065llo\\n'.repeat(50)}"}`
    const plain = countO200k('{"') + countO200k('a') + countO200k('":"') + countO200k('"}')
    expect(await measure(counter, escaped)).toBe(plain + countO200k('hello\n'.repeat(50)))
    expect(await count(counter, escaped)).toBeGreaterThan(plain + 250)
  })

  it('of a long text is near to what all of it comes to, wherever inline stretches stand', async () => {
    const word = 'interesting words of a text, '
    const long = word.repeat(100_000)
    const data = 'x'.repeat(500_000)
    const body = new TextEncoder().encode(`{"a":"${long}","b":"${data}","c":"${long}"}`)
    const from = `{"a":"${long}","b":"`.length
    const inline = [{ from, to: from + data.length }]
    const tokens = Number(await counter.measure(body, loadOf(body, inline), 'o200k', 'key_1'))
    const truth = countO200k(word.repeat(100)) * 2000
    expect(Math.abs(tokens / truth - 1)).toBeLessThan(0.02)
  })

  it('waits until nobody needs a bound, and takes none of their places', async () => {
    const { counter } = open()
    const ended: string[] = []
    const note = async (name: string, counted: Promise<unknown>): Promise<void> => {
      expect(typeof (await counted)).toBe('number')
      ended.push(name)
    }
    const measures = Array.from({ length: 25 }, (_, index) =>
      note(`measure ${index}`, measure(counter, 'x')),
    )
    const bounds = Array.from({ length: 4 }, (_, index) =>
      note(`bound ${index}`, count(counter, 'x')),
    )
    expect(counter.isIdle()).toBe(false)
    await Promise.all([...measures, ...bounds])
    // The first was at work when the bounds were asked for.
    expect(ended.slice(0, 5)).toEqual(['measure 0', 'bound 0', 'bound 1', 'bound 2', 'bound 3'])
    expect(counter.isIdle()).toBe(true)
  })

  it('is refused at once where 64 of its key are waiting', async () => {
    const { counter } = open()
    const asked = Array.from({ length: 66 }, () => measure(counter, 'x'))
    expect(await asked[65]).toBe('late')
    expect(await asked[64]).toBe(1)
  })

  it('has three seconds, and once it is at work as long as a bound', async () => {
    const { counter, clock, workers } = open(
      () => new Worker('setInterval(() => {}, 1000)', { eval: true }),
    )
    const running = measure(counter, 'x')
    const waiting = measure(counter, 'y')
    clock.advance(1000)
    expect(await running).toBe('late')
    expect(workers).toHaveLength(2)
    clock.advance(1000)
    expect(await waiting).toBe('late')
  })
})

describe('the Worker', () => {
  it('ends after a minute without a question, and comes back with the next', async () => {
    const { counter, workers, clock } = open()
    await count(counter, 'one')
    clock.advance(59_000)
    await count(counter, 'one')
    clock.advance(59_000)
    expect(await count(counter, 'one')).toBe(1)
    expect(workers).toHaveLength(1)
    const ended = once(workers[0]!, 'exit')
    clock.advance(60_000)
    await ended
    expect(clock.listeners()).toBe(0)
    expect(await count(counter, 'one two')).toBe(2)
    expect(workers).toHaveLength(2)
  })

  it('ends when the counter is closed, and every question with it', async () => {
    const { counter, workers, clock } = open()
    await count(counter, 'one')
    const asked = [count(counter, 'one'), count(counter, 'one two')]
    const ended = once(workers[0]!, 'exit')
    counter.close()
    expect(await Promise.all(asked)).toEqual(['late', 'late'])
    await ended
    expect(await count(counter, 'one')).toBe('late')
    expect(workers).toHaveLength(1)
    expect(clock.listeners()).toBe(0)
  })

  it('keeps no process alive', async () => {
    const program = `
      import { createCounter } from './counter.ts'
      import { createFakeClock } from '../../../test/fakes/clock.ts'
      const counter = createCounter({ clock: createFakeClock() })
      const awake = setInterval(() => {}, 1000)
      const body = new TextEncoder().encode('hello world')
      console.log(await counter.count(body, { inline: [] }, 'o200k', 'key_1'))
      clearInterval(awake)`
    const child = Bun.spawn([process.execPath, '-e', program], {
      cwd: import.meta.dir,
      stdout: 'pipe',
    })
    expect(await new Response(child.stdout).text()).toBe('2\n')
    expect(await child.exited).toBe(0)
  })

  it('reads the files that their maker publishes', async () => {
    // The hashes that tiktoken itself checks its downloads with (tiktoken_ext/openai_public.py, 2026-08).
    const published = {
      o200k_base: '446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d',
      cl100k_base: '223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7',
    }
    for (const [name, hash] of Object.entries(published)) {
      const path = Bun.resolveSync(`vocabularies/data/${name}.tiktoken`, import.meta.dir)
      // oxlint-disable-next-line no-await-in-loop -- one file after the other
      const bytes = await Bun.file(path).bytes()
      expect(new Bun.CryptoHasher('sha256').update(bytes).digest('hex')).toBe(hash)
    }
  })
})

/** As a JSON string: as short as it can be, or every character by its number. */
function spell(text: string, isEscaped: boolean): string {
  if (!isEscaped) return JSON.stringify(text)
  const units = text.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return `"${units.map((unit) => String.raw`\u${unit}`).join('')}"`
}

describe('the first that is longer', () => {
  const find = (counter: Counter, texts: readonly string[], tokensMax: number) => {
    const body = Buffer.from(JSON.stringify({ before: 'x', texts }))
    let to = body.indexOf('[')
    const strings = texts.map((text) => {
      const from = to + 1
      to = from + Buffer.byteLength(JSON.stringify(text))
      return { from, to }
    })
    return counter.findLonger(body, strings, tokensMax, { tokenizer: 'cl100k', keyId: 'key_1' })
  }

  it('is found by exactly as many tokens as each has', async () => {
    const texts = ['a', ' hello'.repeat(50), 'Zeile "zwei"\\\n'.repeat(20), '中文€😀'.repeat(30)]
    for (const text of texts) {
      const tokens = countCl100k(text)
      expect(await find(counter, [text], tokens)).toBe(-1)
      expect(await find(counter, [text], tokens - 1)).toBe(0)
      expect(await find(counter, ['', text, text], tokens - 1)).toBe(1)
    }
    expect(await find(counter, texts, 60)).toBe(2)
    expect(await find(counter, texts, 100_000)).toBe(-1)
  })

  it('is not waited for beyond what a bound may take', async () => {
    const { counter, clock } = open(() => new Worker('setInterval(() => {}, 1e6)', { eval: true }))
    const found = find(counter, ['a'], 1)
    clock.advance(1000)
    expect(await found).toBe('late')
  })
})
