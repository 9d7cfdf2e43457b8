// How a body is cut into parts where it is made to be dear: what only looks like a boundary costs no more than any other
// content, in how ever many places it stands.
import { describe, expect, it } from 'bun:test'
import { MultipartParser } from './multipart.ts'

async function cut(body: string): Promise<{ readonly content: string; readonly adds: number }> {
  let content = ''
  let adds = 0
  const parser = new MultipartParser('b', {
    begin: () => {},
    add(bytes) {
      content += Buffer.from(bytes).toString('latin1')
      adds++
      return undefined
    },
    end: () => undefined,
  })
  await parser.push(Buffer.from(body, 'latin1'))
  parser.end()
  return { content, adds }
}

const HEAD = '--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n'
const END = '\r\n--b--\r\n'

describe('what only looks like a boundary', () => {
  it.each([
    ['a longer name', '\r\n--bX'.repeat(10_000)],
    ['white space without an end', `\r\n--b${' '.repeat(64)}X`.repeat(1000)],
    ['the beginning of one', '\r\n--\r\n-\r\r\n'.repeat(1000)],
  ])('is handed on in few pieces: %s', async (_, content) => {
    const found = await cut(HEAD + content + END)
    expect(found.content).toBe(content)
    expect(found.adds).toBeLessThan(5)
  })
})
