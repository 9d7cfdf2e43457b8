// The log is one JSON line for each thing that happened, whatever its names hold, written in few calls.
import { describe, expect, it } from 'bun:test'
import { createLog, type RequestLine } from './log.ts'

const LINE: RequestLine = { id: 'req_1', method: 'POST', path: '/v1/x', status: 200, ms: 12.6 }

function collect(isTerminal = false) {
  const written: string[] = []
  const log = createLog({ write: (text) => written.push(text), now: () => 42, isTerminal })
  return { log, written }
}

describe('the log', () => {
  it('writes one JSON line for a request', () => {
    const { log, written } = collect()
    log.request(LINE)
    log.flush()
    expect(written.map((text) => JSON.parse(text) as unknown)).toEqual([
      { time: 42, id: 'req_1', method: 'POST', path: '/v1/x', status: 200, ms: 13 },
    ])
  })

  it.each(['/a\nb', '/a"b', '/\u001b[31m', '/\u2028', '/\\'])('keeps %j on its line', (path) => {
    const { log, written } = collect()
    log.request({ ...LINE, path })
    log.note('warn', path, { path })
    log.flush()
    const lines = written.join('').trimEnd().split('\n')
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({ path })
      expect(line).not.toContain('\u001b')
    }
  })

  it('writes what one turn of the loop brought in one call', async () => {
    const { log, written } = collect()
    for (let count = 0; count < 100; count++) log.request(LINE)
    expect(written).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect(written).toHaveLength(1)
    expect(written[0]!.split('\n')).toHaveLength(101)
    log.flush()
    expect(written).toHaveLength(1)
  })

  it('tells a person at a terminal only what an operator should know', () => {
    const { log, written } = collect(true)
    log.request(LINE)
    log.note('warn', 'The disk is almost full.')
    log.flush()
    expect(written).toEqual(['warn: The disk is almost full.\n'])
  })
})
