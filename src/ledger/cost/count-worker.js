// The Worker that counts tokens: the text of a request comes in, a number goes out that no reading of that
// text exceeds, or that the likeliest reading has. A compiled program carries this one file as it stands,
// untranslated, so it is plain JavaScript without a type in it and imports nothing but built-in modules.
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'

// How text is cut into pieces before anything is merged; tokens never reach over the border of two pieces.
// As the maker of the vocabularies publishes it, with its own idea of white space, which is not this
// language's.
const SPACE = String.raw`\p{White_Space}`
const UPPER = String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const LOWER = String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const BEFORE = String.raw`[^\r\n\p{L}\p{N}]?`
const ENDING = `'(?i:[sdmt]|ll|ve|re)`
const NUMBER = String.raw`\p{N}{1,3}`
const SIGNS = String.raw` ?[^${SPACE}\p{L}\p{N}]+`
const LAST_SPACES = String.raw`${SPACE}+(?!\P{White_Space})`

const PATTERNS = {
  o200k: [
    `${BEFORE}${UPPER}*${LOWER}+(?:${ENDING})?`,
    `${BEFORE}${UPPER}+${LOWER}*(?:${ENDING})?`,
    NUMBER,
    String.raw`${SIGNS}[\r\n/]*`,
    String.raw`${SPACE}*[\r\n]+`,
    LAST_SPACES,
    `${SPACE}+`,
  ],
  cl100k: [
    ENDING,
    String.raw`${BEFORE}\p{L}+`,
    NUMBER,
    String.raw`${SIGNS}[\r\n]*`,
    `${SPACE}+$`,
    String.raw`${SPACE}*[\r\n]`,
    LAST_SPACES,
    SPACE,
  ],
}

/** The rank of what is no token: behind that of every token. */
const NONE = 0x7fff_ffff

/**
 * A longer piece counts a token for every byte. Cutting it into slices would be nearer to the truth and at
 * times below it: a merge that reaches over a border can spoil better ones on both sides.
 */
const PIECE_BYTES_MAX = 1 << 15

/** A key of the heap is a rank and a place, ordered by rank and among equals by place. */
const PLACES = PIECE_BYTES_MAX * 2

const BLANK = 32
const LINE_FEED = 10

class Vocabulary {
  /** A line for every token in the order of their ranks: its bytes in base 64, a space, its rank. */
  constructor(file) {
    const bytes = Buffer.alloc(file.length)
    const starts = [0]
    let end = 0
    for (let at = 0; at < file.length; at = file.indexOf(LINE_FEED, at) + 1 || file.length) {
      end += bytes.write(file.latin1Slice(at, file.indexOf(BLANK, at)), end, 'base64')
      starts.push(end)
    }
    this.bytes = new Uint8Array(bytes.subarray(0, end))
    this.starts = Uint32Array.from(starts)
    this.index()
  }

  /** Puts every token into a table of hashes that is at most half full. */
  index() {
    const tokens = this.starts.length - 1
    this.mask = 2 ** Math.ceil(Math.log2(tokens * 2)) - 1
    this.slots = new Int32Array(this.mask + 1).fill(NONE)
    this.longest = 0
    for (let rank = 0; rank < tokens; rank += 1) {
      const [from, to] = [this.starts[rank], this.starts[rank + 1]]
      this.longest = Math.max(this.longest, to - from)
      let slot = hash(this.bytes, from, to) & this.mask
      while (this.slots[slot] !== NONE) slot = (slot + 1) & this.mask
      this.slots[slot] = rank
    }
  }

  rankOf(bytes, from, to) {
    if (to - from > this.longest) return NONE
    let slot = hash(bytes, from, to) & this.mask
    while (this.slots[slot] !== NONE && !this.is(this.slots[slot], bytes, from, to))
      slot = (slot + 1) & this.mask
    return this.slots[slot]
  }

  is(rank, bytes, from, to) {
    const start = this.starts[rank]
    if (this.starts[rank + 1] - start !== to - from) return false
    let at = from
    while (at < to && bytes[at] === this.bytes[start + at - from]) at += 1
    return at === to
  }
}

function hash(bytes, from, to) {
  let value = 0x811c9dc5
  for (let at = from; at < to; at += 1) value = Math.imul(value ^ bytes[at], 0x01000193)
  return value ^ (value >>> 15)
}

/** The smallest key first. */
class Heap {
  keys = new Float64Array(PIECE_BYTES_MAX * 3)
  size = 0

  push(key) {
    let at = this.size
    this.size += 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (this.keys[parent] <= key) break
      this.keys[at] = this.keys[parent]
      at = parent
    }
    this.keys[at] = key
  }

  pop() {
    const top = this.keys[0]
    this.size -= 1
    const key = this.keys[this.size]
    let at = 0
    for (let child = 1; child < this.size; child = at * 2 + 1) {
      if (child + 1 < this.size && this.keys[child + 1] < this.keys[child]) child += 1
      if (this.keys[child] >= key) break
      this.keys[at] = this.keys[child]
      at = child
    }
    this.keys[at] = key
    return top
  }
}

/**
 * Byte pair encoding of one piece: of all neighbours that make a token together, those of the lowest rank
 * are merged first. With a heap, because looking through all of them for each merge takes time by the
 * square of the length, and whoever sends a long enough word would have a core to themselves.
 */
class Merger {
  /** By the place of a part's first byte: where the next and the one before begin, and what the part and the next make together. */
  next = new Int32Array(PIECE_BYTES_MAX + 2)
  before = new Int32Array(PIECE_BYTES_MAX + 2)
  ranks = new Int32Array(PIECE_BYTES_MAX + 2)
  heap = new Heap()

  constructor(vocabulary) {
    this.vocabulary = vocabulary
  }

  /** How many tokens the first `length` bytes make. */
  count(bytes, length) {
    for (let at = 0; at <= length; at += 1) {
      this.next[at] = at + 1
      this.before[at] = at - 1
    }
    for (let at = 0; at < length; at += 1) this.rank(bytes, at, length)
    let parts = length
    while (this.heap.size > 0) {
      const key = this.heap.pop()
      const at = key % PLACES
      // A part that has changed since has another key in the heap.
      if (this.ranks[at] !== (key - at) / PLACES) continue
      this.merge(bytes, at, length)
      parts -= 1
    }
    return parts
  }

  merge(bytes, at, length) {
    const gone = this.next[at]
    this.ranks[gone] = NONE
    this.next[at] = this.next[gone]
    this.before[this.next[at]] = at
    this.rank(bytes, at, length)
    if (at > 0) this.rank(bytes, this.before[at], length)
  }

  rank(bytes, at, length) {
    const middle = this.next[at]
    const rank = middle < length ? this.vocabulary.rankOf(bytes, at, this.next[middle]) : NONE
    this.ranks[at] = rank
    if (rank !== NONE) this.heap.push(rank * PLACES + at)
  }
}

class Tokenizer {
  encoder = new TextEncoder()
  /** A UTF-16 unit takes three bytes at most. */
  bytes = new Uint8Array(PIECE_BYTES_MAX * 3)

  constructor(pattern, vocabulary) {
    this.pattern = new RegExp(pattern.join('|'), 'gu')
    this.vocabulary = vocabulary
    this.merger = new Merger(vocabulary)
  }

  count(text) {
    let tokens = 0
    let from = 0
    this.pattern.lastIndex = 0
    while (this.pattern.test(text)) {
      const to = this.pattern.lastIndex
      tokens += this.countPiece(text, from, to)
      from = to
    }
    return tokens
  }

  countPiece(text, from, to) {
    if (to - from > PIECE_BYTES_MAX) return Buffer.byteLength(text.slice(from, to))
    const length = this.write(text, from, to)
    return length > PIECE_BYTES_MAX ? length : this.tokensOf(length)
  }

  /** Of the piece that is written. */
  tokensOf(length) {
    if (this.vocabulary.rankOf(this.bytes, 0, length) !== NONE) return 1
    return this.merger.count(this.bytes, length)
  }

  /** By hand where it is ASCII, as nearly every piece is: a piece is too short for a call. */
  write(text, from, to) {
    for (let at = from; at < to; at += 1) {
      const unit = text.charCodeAt(at)
      if (unit > 127) return this.encoder.encodeInto(text.slice(from, to), this.bytes).written
      this.bytes[at - from] = unit
    }
    return to - from
  }
}

/**
 * For every vocabulary that we do not have. Others need up to 1.6 times our tokens for prose and code in
 * ASCII, but up to 7 times for other scripts, where some know nothing but bytes; some merge no digits,
 * line breaks or tabs, and few have the tokens of a hundred blanks that ours has. So it is twice our
 * tokens or one for every four bytes, and one for each byte of the doubtful kind.
 */
class OtherTokenizer extends Tokenizer {
  tokensOf(length) {
    let doubtful = 0
    for (let at = 0; at < length; at += 1) {
      const byte = this.bytes[at]
      if (byte > 127 || byte < 32 || (byte >= 48 && byte <= 57)) doubtful += 1
    }
    const tokens = Math.max(super.tokensOf(length) * 2, Math.ceil(length / 4))
    return Math.min(length, tokens + doubtful)
  }
}

/**
 * Every string is counted for itself, and so is what stands between two of them: the tokens of the whole
 * could be fewer than those of the strings that a model is shown.
 */
function countJson(text, tokenizer, countString) {
  let tokens = 0
  let from = 0
  let open = text.indexOf('"')
  while (open >= 0) {
    tokens += tokenizer.count(text.slice(from, open + 1))
    from = endOfString(text, open + 1)
    tokens += countString(text.slice(open + 1, from), tokenizer)
    open = text.indexOf('"', from + 1)
  }
  return tokens + tokenizer.count(text.slice(from))
}

/** Where the closing quote of the string stands that begins here. */
function endOfString(text, start) {
  for (let at = start; ; at += 1) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let unescaped = at
    while (unescaped > start && text[unescaped - 1] === '\\') unescaped -= 1
    if ((at - unescaped) % 2 === 0) return at
  }
}

/**
 * As it stands or as it reads, whichever is more: a model may be shown either, and although escapes are
 * longer, some have fewer tokens than what they stand for.
 */
function countMost(string, tokenizer) {
  const tokens = tokenizer.count(string)
  if (!string.includes('\\')) return tokens
  try {
    return Math.max(tokens, tokenizer.count(JSON.parse(`"${string}"`)))
  } catch {
    // No JSON, so nobody can say what it will be read as.
    return Buffer.byteLength(string)
  }
}

/** As it reads: what a model is shown, but for the few who are shown the JSON. */
function countFair(string, tokenizer) {
  if (!string.includes('\\')) return tokenizer.count(string)
  try {
    return tokenizer.count(JSON.parse(`"${string}"`))
  } catch {
    // No JSON: an image was cut out, or somebody is wrong.
    return tokenizer.count(string)
  }
}

/** Strings follow each other with nothing in between. */
function findLonger(text, tokenizer, tokensMax) {
  let open = 0
  for (let index = 0; open < text.length; index += 1) {
    const close = endOfString(text, open + 1)
    if (countFair(text.slice(open + 1, close), tokenizer) > tokensMax) return index
    open = close + 1
  }
  return -1
}

/** Pieces of JSON that begin and end anywhere: escapes are all that can be told of them. */
function readPieces(text) {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([bfnrt])|(["\\/]))/g, (_, code, letter, sign) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    return letter === undefined ? sign : CONTROLS[letter]
  })
}

const CONTROLS = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

const READINGS = {
  most: (text, tokenizer) => countJson(text, tokenizer, countMost),
  fair: (text, tokenizer) => countJson(text, tokenizer, countFair),
  flat: (text, tokenizer) => tokenizer.count(readPieces(text)),
  longer: findLonger,
}

const vocabularies = new Map()
const tokenizers = new Map()

function tokenizerOf(name) {
  const known = tokenizers.get(name)
  if (known !== undefined) return known
  const made =
    name === 'other'
      ? new OtherTokenizer(PATTERNS.o200k, vocabularyOf('o200k'))
      : new Tokenizer(PATTERNS[name], vocabularyOf(name))
  tokenizers.set(name, made)
  return made
}

/** Read when it is first needed: few installations need more than one. */
function vocabularyOf(name) {
  const known = vocabularies.get(name)
  if (known !== undefined) return known
  const made = new Vocabulary(readFileSync(workerData[name]))
  vocabularies.set(name, made)
  return made
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

// A message is a `CountRequest` of `counter.ts`.
parentPort?.on('message', ({ text, tokenizer, reading, tokensMax }) => {
  const tokens = READINGS[reading](decoder.decode(text), tokenizerOf(tokenizer), tokensMax)
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(tokens)
})
