// The load of wrk, where it is installed: C, one thread, so little of the machine goes to asking. It
// cannot stop between two calls, and cuts those under way when its time is up.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Processes } from '../processes.ts'
import { EVENTS, MARKER } from '../traffic.ts'
import type { Load, Order, Tally } from './load.ts'

const GRACE_MS = 15_000

export function findWrk(): string | undefined {
  return Bun.which('wrk') ?? undefined
}

export function createWrk(program: string, processes: Processes): Load {
  return {
    id: 'wrk',
    async run(order) {
      const script = writeScript(order, processes.createFolder('wrk'))
      const { callers, seconds } = order
      const words = ['-t1', `-c${callers}`, `-d${seconds}s`, '--timeout', '30s', '-s', script]
      const command = [program, ...words, order.url]
      const limitMs = seconds * 1000 + GRACE_MS
      const { code, output } = await processes.run({ name: 'wrk', command }, limitMs)
      if (code !== 0) throw new Error(`wrk ended with ${code}: ${output}`)
      return readTally(output)
    },
  }
}

function readTally(output: string): Tally {
  const [, calls, failed, micros, p50, p99, complaint] =
    /^tally (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+) (.*)$/ms.exec(output) ?? []
  if (calls === undefined) throw new Error(`wrk told nothing: ${output}`)
  return {
    calls: Number(calls),
    failed: Number(failed),
    seconds: Number(micros) / 1e6,
    p50Ms: Number(p50) / 1000,
    p99Ms: Number(p99) / 1000,
    complaint: complaint?.trim() ?? '',
  }
}

/** Request and answer lie beside the script, so that nothing has to be quoted into it. */
function writeScript({ body, answer, headers }: Order, folder: string): string {
  writeFileSync(join(folder, 'request'), body)
  writeFileSync(join(folder, 'answer'), answer.text)
  const path = join(folder, 'load.lua')
  const isStream = answer.text.endsWith(MARKER)
  const check = answer.isLoose ? (isStream ? LOOSE_STREAM : LOOSE_UNARY) : SAME
  writeFileSync(path, script(folder, headers, check))
  return path
}

const SAME = `
  if body == expected then return true end
  return body:gsub('\\n:[^\\n]*', ''):gsub('\\n\\n\\n+', '\\n\\n') == expected`

const LOOSE_UNARY = `
  return body:find('"finish_reason":"stop"', 1, true) ~= nil`

const LOOSE_STREAM = `
  local _, events = body:gsub('data: {', '')
  return events >= ${EVENTS} and body:find('${MARKER.trim().replace('[', '%[')}%s*$') ~= nil`

function script(folder: string, headers: Order['headers'], check: string): string {
  const lines = Object.entries(headers).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  )
  return `
local function read(name)
  local file = io.open(${JSON.stringify(folder)} .. '/' .. name, 'rb')
  local text = file:read('*a')
  file:close()
  return text
end

wrk.method = 'POST'
wrk.body = read('request')
${lines.join('\n')}
local expected = read('answer')
wrong = 0
complaint = ''

local function isRight(body)${check}
end

function response(status, _, body)
  if status == 200 and isRight(body) then return end
  wrong = wrong + 1
  if wrong == 1 then complaint = status .. ' ' .. body:sub(1, 300) end
end

local threads = {}
function setup(thread) table.insert(threads, thread) end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  local first = ''
  for _, thread in ipairs(threads) do
    failed = failed + thread:get('wrong')
    if first == '' then first = thread:get('complaint') end
  end
  if first == '' and failed > 0 then
    first = string.format('connect %d, read %d, write %d, timeout %d',
      errors.connect, errors.read, errors.write, errors.timeout)
  end
  print(string.format('tally %d %d %d %.1f %.1f %s', summary.requests, failed, summary.duration,
    latency:percentile(50), latency:percentile(99), first))
end
`
}
