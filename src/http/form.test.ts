// Forms as programs send them and as nobody should: in any pieces and any order, at every limit, and with nothing left on
// disk once they are done with.
import { afterAll, beforeEach, describe, expect, it } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { GatewayError } from '../core/problem.ts'
import { readForm, requireForm, type FormLimits, type ReadForm } from './form.ts'
import { sweepUploads } from './spool.ts'

const MEBIBYTE = 1_048_576
const root = mkdtempSync(join(tmpdir(), 'form-test-'))
let limits: FormLimits
let runs = 0
beforeEach(() => {
  limits = {
    bodyBytesMax: 26 * MEBIBYTE,
    fileBytesMax: 25 * MEBIBYTE,
    folder: join(root, `uploads-${++runs}`),
  }
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

interface Part {
  readonly name: string
  readonly filename?: string
  readonly type?: string
  readonly content: string | Uint8Array
}

const TYPE = 'multipart/form-data; boundary=edge'

function write(parts: readonly Part[], boundary = 'edge'): Buffer {
  const pieces = parts.flatMap(({ name, filename, type, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    content,
    '\r\n',
  ])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)))
}

interface Chunked {
  readonly body: ReadableStream<Uint8Array>
  /** How much of it was asked for. */
  taken(): number
  isCancelled(): boolean
}

/** A body without a length, in pieces of at most so many bytes. */
function inPieces(bytes: Uint8Array, size: number, isEndless = false): Chunked {
  let at = 0
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += size)))
        else if (!isEndless) controller.close()
        else return new Promise<void>(() => {})
        return undefined
      },
      cancel() {
        isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, taken: () => Math.min(at, bytes.length), isCancelled: () => isCancelled }
}

function requestOf(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  headers: Readonly<Record<string, string>> = {},
): Request {
  return new Request('http://gateway.test/', {
    method: 'POST',
    body: body === null || body instanceof ReadableStream ? body : Buffer.from(body),
    headers: { 'content-type': TYPE, ...headers },
  })
}

function read(
  body: Uint8Array | ReadableStream<Uint8Array> | null,
  headers = {},
): Promise<ReadForm> {
  return readForm(requestOf(body, headers), limits, createFakeClock())
}

async function refusal(reading: Promise<ReadForm>): Promise<string> {
  try {
    ;(await reading).dispose()
    return 'read'
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return `${thrown.status} ${thrown.code}`
  }
}

const SOUND: Part = { name: 'file', filename: 'a.wav', type: 'audio/wav', content: 'RIFFdata' }

function leftOvers(): readonly string[] {
  return existsSync(limits.folder) ? readdirSync(limits.folder) : []
}

async function contentOf({ form: { file } }: ReadForm): Promise<string> {
  return Buffer.from(await file!.read(0, file!.bytes)).toString('latin1')
}

describe('a form', () => {
  it('is its fields and its file', async () => {
    const read1 = await read(
      write([{ name: 'model', content: 'm' }, SOUND, { name: 'x[]', content: 'é\r\n--edg' }]),
    )
    const { form } = read1
    expect([...form.fields]).toEqual([
      ['model', 'm'],
      ['x[]', 'é\r\n--edg'],
    ])
    expect(form.file).toMatchObject({ name: 'a.wav', type: 'audio/wav', bytes: 8 })
    expect(form.fileField).toBe('file')
    expect(await contentOf(read1)).toBe('RIFFdata')
    expect(Buffer.from(form.file!.head).toString()).toBe('RIFFdata')
    expect(Buffer.from(await form.file!.read(4, 100)).toString()).toBe('data')
    expect(Buffer.from(await form.file!.read(0, 100)).toString()).toBe('RIFFdata')
  })

  it('is the same in whatever pieces it comes', async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc
        .array(
          fc.constantFrom(
            '\r',
            '\n',
            '\r\n',
            '--',
            'edge',
            '--edge',
            '\r\n--edge',
            '\r\n--edgX',
            ' ',
            'a',
          ),
          { maxLength: 12 },
        )
        .map((pieces) =>
          Buffer.from(pieces.join('').replaceAll(/\r\n--edge(?=[ \t]*\r\n|--)/g, '')),
        )
        .filter(
          (bytes) => !/\r\n--edge(?:[ \t]*\r\n|--|[ \t]*$)/.test(`\r\n${bytes.toString()}\r\n`),
        ),
    )
    await fc.assert(
      fc.asyncProperty(
        content,
        fc.integer({ min: 1, max: 70 }),
        fc.boolean(),
        async (bytes, size, isLast) => {
          const field: Part = { name: 'prompt', content: 'hello' }
          const file: Part = { ...SOUND, content: bytes }
          const body = Buffer.concat([
            Buffer.from('a preamble\r\n'),
            write(isLast ? [field, file] : [file, field]),
            Buffer.from('an epilogue --edge'),
          ])
          const found = await read(inPieces(body, size).body)
          expect(found.form.fields.get('prompt')).toBe('hello')
          expect(await contentOf(found)).toBe(Buffer.from(bytes).toString('latin1'))
        },
      ),
    )
  })

  it.each([
    ['a quoted boundary', 'multipart/form-data; boundary="a, b"', 'a, b'],
    ['another case', 'Multipart/Form-Data; BOUNDARY=Xy', 'Xy'],
    ['other parameters', 'multipart/form-data; charset=utf-8; boundary=----WebKit0', '----WebKit0'],
  ])('may have %s', async (_, type, boundary) => {
    const found = await read(write([SOUND], boundary), { 'content-type': type })
    expect(found.form.file?.bytes).toBe(8)
  })

  it('may have white space behind its boundaries, and names in any of the usual ways', async () => {
    const body = [
      '--edge \t\r\ncontent-disposition:form-data;name=model\r\n\r\nm\r\n',
      '--edge\r\nContent-Type: audio/wav\r\nContent-Disposition: form-data; name="file"; ',
      "filename*=UTF-8''na%C3%AFve.wav\r\n\r\nRIFF\r\n--edge--",
    ]
    const { form } = await read(Buffer.from(body.join('')))
    expect(form.fields.get('model')).toBe('m')
    expect(form.file?.name).toBe('naïve.wav')
  })

  it.each([
    [64, 'x'],
    [65, `x\r\n--edge${' '.repeat(65)}\r\ny`],
  ])('ends a part with a boundary and at most 64 spaces: %d', async (spaces, content) => {
    const head = '--edge\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--edge'
    const rest = spaces === 64 ? '\r\nContent-Disposition: form-data; name="b"\r\n\r\n' : '\r\ny'
    const bytes = Buffer.from(`${head}${' '.repeat(spaces)}${rest}\r\n--edge--`)
    const { form } = await read(inPieces(bytes, 1).body)
    expect(form.fields.get('a')).toBe(content)
  })

  it('keeps every value of a name that comes twice, and means the last', async () => {
    const parts = ['word', 'segment'].map((content) => ({ name: 't[]', content }))
    const { form } = await read(write(parts))
    expect(form.entries).toEqual([
      ['t[]', 'word'],
      ['t[]', 'segment'],
    ])
    expect(form.fields.get('t[]')).toBe('segment')
  })

  it('may have no parts at all', async () => {
    const { form } = await read(Buffer.from('--edge--\r\n'))
    expect([form.fields.size, form.file]).toEqual([0, undefined])
  })
})

describe('what tells two forms apart', () => {
  const model: Part = { name: 'model', content: 'm' }
  const digest = async (parts: readonly Part[], boundary?: string): Promise<string> => {
    const headers =
      boundary === undefined ? {} : { 'content-type': `multipart/form-data; boundary=${boundary}` }
    return Buffer.from(await (await read(write(parts, boundary), headers)).digest()).toString('hex')
  }

  it('is neither their order nor their boundary', async () => {
    const first = await digest([model, SOUND])
    expect(await digest([SOUND, model])).toBe(first)
    expect(await digest([model, SOUND], 'other')).toBe(first)
  })

  it.each([
    ['a byte of the file', [model, { ...SOUND, content: 'RIFFdatb' }]],
    ['the name of the file', [model, { ...SOUND, filename: 'b.wav' }]],
    ['a value', [{ ...model, content: 'n' }, SOUND]],
    ['a name', [{ ...model, name: 'n' }, SOUND]],
    ['one part more', [model, model, SOUND]],
    ['a file that is a field', [model, { name: 'file', content: 'RIFFdata' }]],
  ] as const)('is %s', async (_, parts) => {
    expect(await digest(parts)).not.toBe(await digest([model, SOUND]))
  })

  it('is which of two values comes last', async () => {
    const other = { ...model, content: 'n' }
    expect(await digest([model, other])).not.toBe(await digest([other, model]))
  })
})

describe('a type', () => {
  const refused = (type: string | null): string => {
    const request = requestOf(Buffer.from('x'))
    if (type === null) request.headers.delete('content-type')
    else request.headers.set('content-type', type)
    try {
      requireForm(request)
      return 'taken'
    } catch (thrown) {
      return thrown instanceof GatewayError ? `${thrown.status} ${thrown.code}` : 'thrown'
    }
  }
  it.each([
    [TYPE, 'taken'],
    [null, '415 unsupported_media_type'],
    ['application/json', '415 unsupported_media_type'],
    ['multipart/mixed; boundary=edge', '415 unsupported_media_type'],
    ['multipart/form-data', '400 invalid_request'],
    ['multipart/form-data; boundary=', '400 invalid_request'],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, '400 invalid_request'],
    ['multipart/form-data; boundary="a\tb"', '400 invalid_request'],
    ['multipart/form-data; boundary="open', '400 invalid_request'],
    [`${TYPE}, ${TYPE}`, '400 invalid_request'],
  ])('%p is %s', (type, outcome) => {
    expect(refused(type)).toBe(outcome)
  })
})

describe('a limit', () => {
  const part = (head: string): Buffer => Buffer.from(`--edge\r\n${head}\r\n\r\nx\r\n--edge--\r\n`)
  const named = 'Content-Disposition: form-data; name="a"'
  const cases: readonly (readonly [string, Uint8Array, string])[] = [
    ['64 KiB in a field', write([{ name: 'a', content: 'x'.repeat(65_536) }]), 'read'],
    ['a byte more', write([{ name: 'a', content: 'x'.repeat(65_537) }]), '413 request_too_large'],
    [
      '10 MB in a field',
      write([{ name: 'a', content: Buffer.alloc(10_000_000) }]),
      '413 request_too_large',
    ],
    ['headers of 1 MB', part(`${named}\r\nX: ${'x'.repeat(1_000_000)}`), '413 request_too_large'],
    [
      'headers that never end',
      Buffer.from(`--edge\r\n${'x'.repeat(20_000)}`),
      '413 request_too_large',
    ],
    ['a file name of 1 KiB', write([{ ...SOUND, filename: 'x'.repeat(1024) }]), 'read'],
    [
      'a file name of 10 KB',
      write([{ ...SOUND, filename: 'x'.repeat(10_240) }]),
      '400 invalid_request',
    ],
    ['64 parts', write(Array.from({ length: 64 }, () => ({ name: 'a', content: '' }))), 'read'],
    [
      '65 parts',
      write(Array.from({ length: 65 }, () => ({ name: 'a', content: '' }))),
      '413 request_too_large',
    ],
    ['two files', write([SOUND, { ...SOUND, name: 'other' }]), '400 invalid_request'],
    ['a part without a name', part('Content-Disposition: form-data'), '400 invalid_request'],
    ['a part without headers', Buffer.from('--edge\r\n\r\nx\r\n--edge--'), '400 invalid_request'],
    ['a name twice', part(`${named}; name="b"`), '400 invalid_request'],
    ['a header twice', part(`${named}\r\n${named}`), '400 invalid_request'],
    ['a folded header', part(`${named};\r\n filename="b"`), '400 invalid_request'],
    ['a bare line feed in a header', part(`${named}\nX: y`), '400 invalid_request'],
    ['a NUL in a header', part(`${named}\r\nX: \0`), '400 invalid_request'],
    [
      'an encoded part',
      part(`${named}\r\nContent-Transfer-Encoding: base64`),
      '400 invalid_request',
    ],
    [
      'text that is not UTF-8',
      write([{ name: 'a', content: Buffer.from([0xff]) }]),
      '400 invalid_request',
    ],
    [
      'lines without a carriage return',
      Buffer.from(write([SOUND]).toString().replaceAll('\r', '')),
      '400 invalid_request',
    ],
    ['no last boundary', write([SOUND]).subarray(0, -6), '400 invalid_request'],
    ['half of a last boundary', write([SOUND]).subarray(0, -3), '400 invalid_request'],
    ['nothing', Buffer.alloc(0), '400 invalid_request'],
    ['another boundary', write([SOUND], 'other'), '400 invalid_request'],
  ]
  it.each(cases)('meets %s', async (_, bytes, outcome) => {
    expect(await refusal(read(bytes))).toBe(outcome)
    expect(await refusal(read(inPieces(bytes, 1000).body))).toBe(outcome)
    expect(leftOvers()).toEqual([])
  })

  it('meets a body that is not there', async () => {
    expect(await refusal(read(null))).toBe('400 invalid_request')
  })

  it.each(['gzip', 'br', 'gzip, gzip'])('meets a body that is packed: %s', async (encoding) => {
    const reading = read(write([SOUND]), { 'content-encoding': encoding })
    expect(await refusal(reading)).toBe('415 unsupported_media_type')
  })
})

describe('a large file', () => {
  const head = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
  const body = (bytes: number): Buffer =>
    Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, 0x61), Buffer.from('\r\n--edge--\r\n')])

  it('goes to disk where nobody else can read it, and is gone when it is let go', async () => {
    const found = await read(inPieces(body(3 * MEBIBYTE), 50_000).body)
    const [name = ''] = leftOvers()
    expect(statSync(limits.folder).mode & 0o777).toBe(0o700)
    expect(statSync(join(limits.folder, name)).mode & 0o777).toBe(0o600)
    const file = found.form.file!
    expect(file.bytes).toBe(3 * MEBIBYTE)
    expect(Buffer.from(await file.read(file.bytes - 3, 10)).toString()).toBe('aaa')
    expect((await file.read(file.bytes, 10)).length).toBe(0)
    found.dispose()
    found.dispose()
    expect(leftOvers()).toEqual([])
  })

  it.each([700, 50_000, 700_001])(
    'is the same on disk and for its digest in pieces of %i bytes',
    async (size) => {
      const content = Buffer.alloc(3 * MEBIBYTE, 'sound\r\n--edg\r\r\n--')
      const bytes = write([{ name: 'file', filename: 'a', content }])
      const found = await read(inPieces(bytes, size).body)
      const { file } = found.form
      expect(content.equals(await file!.read(0, file!.bytes))).toBe(true)
      const whole = await read(bytes)
      expect(await found.digest()).toEqual(await whole.digest())
      found.dispose()
      whole.dispose()
    },
  )

  it('stays in memory up to a mebibyte', async () => {
    const found = await read(body(MEBIBYTE))
    expect(existsSync(limits.folder)).toBe(false)
    expect(found.form.file?.bytes).toBe(MEBIBYTE)
  })

  it('may have 25 MiB', async () => {
    const found = await read(inPieces(body(25 * MEBIBYTE), 300_000).body)
    expect(found.form.file?.bytes).toBe(25 * MEBIBYTE)
    found.dispose()
  })

  it('is refused at the first byte beyond, and read no further', async () => {
    const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(25 * MEBIBYTE + 1 + 500_000)])
    const sent = inPieces(bytes, 65_536)
    expect(await refusal(read(sent.body))).toBe('413 request_too_large')
    expect(sent.taken()).toBeLessThan(25 * MEBIBYTE + 200_000)
    expect(sent.isCancelled()).toBe(true)
    expect(leftOvers()).toEqual([])
  })

  it.each([
    [10, 'read'],
    [11, '413 request_too_large'],
  ])('of %d bytes is %s where ten are allowed', async (bytes, outcome) => {
    const few = { ...limits, fileBytesMax: 10 }
    for (const size of [1, 4, 1000]) {
      const reading = readForm(requestOf(inPieces(body(bytes), size).body), few, createFakeClock())
      expect(await refusal(reading)).toBe(outcome)
    }
  })

  it('is refused unread where its length is told and too much', async () => {
    const sent = inPieces(write([SOUND]), 10)
    const told = { 'content-length': String(26 * MEBIBYTE + 1) }
    expect(await refusal(read(sent.body, told))).toBe('413 request_too_large')
    expect(sent.taken()).toBe(0)
  })

  it('is not the only thing that counts: so does what surrounds it', async () => {
    const sent = inPieces(Buffer.concat([write([SOUND]), Buffer.alloc(26 * MEBIBYTE)]), 500_000)
    expect(await refusal(read(sent.body))).toBe('413 request_too_large')
    expect(sent.isCancelled()).toBe(true)
  })

  it('cannot be stored where there is no place for it', async () => {
    writeFileSync(limits.folder, 'in the way')
    expect(await refusal(read(body(2 * MEBIBYTE)))).toBe('503 service_unavailable')
  })

  it('is removed at the next start where its process has died', async () => {
    mkdirSync(limits.folder)
    const found = await read(body(2 * MEBIBYTE))
    writeFileSync(join(limits.folder, 'notes.txt'), 'not ours')
    expect(leftOvers()).toHaveLength(2)
    sweepUploads(limits.folder)
    expect(leftOvers()).toEqual(['notes.txt'])
    sweepUploads(join(root, 'nowhere'))
    found.dispose()
  })
})

describe('a slow upload', () => {
  it('is given up, and leaves nothing behind', async () => {
    const clock = createFakeClock()
    const start = Buffer.concat([
      Buffer.from('--edge\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'),
      Buffer.alloc(2 * MEBIBYTE),
    ])
    const sent = inPieces(start, MEBIBYTE, true)
    const reading = readForm(requestOf(sent.body), limits, clock)
    const outcome = refusal(reading)
    while (leftOvers().length === 0) await new Promise<void>((resolve) => setImmediate(resolve))
    clock.advance(9000)
    clock.advance(60 * 60_000)
    expect(await outcome).toBe('408 request_timeout')
    while (leftOvers().length > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    expect(sent.isCancelled()).toBe(true)
    expect(clock.listeners()).toBe(0)
  })

  it('has its time', async () => {
    const clock = createFakeClock()
    const outcome = refusal(readForm(requestOf(inPieces(write([SOUND]), 7).body), limits, clock))
    clock.advance(9000)
    expect(await outcome).toBe('read')
    expect(clock.listeners()).toBe(0)
  })
})
