// A thousand callers that hang up in the same moment: each of their calls ends in the books, the suppliers are
// let go of, and the key has its money back.
import { expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { HELLO, ROOT_KEY } from '../fakes/gateway.ts'
import { createFolder, startProcess } from '../fakes/process.ts'
import { formatRequest } from '../fakes/raw.ts'
import { endsOf, expectSoundBooks, openHolds, readRecords } from '../fakes/records.ts'
import { chunk, startFakeSupplier, type FakeSupplier } from '../fakes/supplier.ts'

const CALLERS = 1000
const TEST_MS = 60_000

function configOf({ origin }: FakeSupplier): string {
  return [
    'suppliers:',
    '  fake:',
    '    kind: openai-compatible',
    `    origin: ${origin}/v1`,
    '    allow_private: true',
    '    models: { m: { price: { input: 0.15, output: 0.6 } } }',
    '',
  ].join('\n')
}

function callByHand(url: string, stream: boolean): Promise<Socket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        formatRequest({
          method: 'POST',
          target: '/v1/chat/completions',
          headers: [
            ['authorization', `Bearer ${ROOT_KEY}`],
            ['content-type', 'application/json'],
          ],
          body: JSON.stringify({ ...HELLO, model: 'm', max_tokens: 10, stream }),
        }),
      )
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

it(
  'a thousand at once leave no call open',
  async () => {
    using folder = createFolder()
    const data = join(folder.path, 'data')
    // One in three says nothing at all, the others begin and do not end.
    const supplier = await startFakeSupplier((_, reply, index) => {
      if (index % 3 > 0) reply.stream().send(chunk({ content: 'word' }))
    })
    writeFileSync(join(folder.path, 'gateway.yaml'), configOf(supplier), { mode: 0o600 })
    try {
      await using gateway = await startProcess(folder, { GATEWAY_ROOT_KEY: ROOT_KEY })
      const sockets = await Promise.all(
        Array.from({ length: CALLERS }, (_, index) => callByHand(gateway.url, index % 4 > 0)),
      )
      await supplier.request(CALLERS - 1)
      for (const socket of sockets) {
        socket.on('error', () => {})
        socket.resetAndDestroy()
      }
      await Promise.all(supplier.requests.map(({ closed }) => closed))
      while (readRecords(data).ends.length < CALLERS) await fetch(`${gateway.url}/health`)
      expect((await fetch(`${gateway.url}/health`)).status).toBe(200)
      gateway.kill('SIGINT')
      expect(await gateway.exited).toBe(0)
    } finally {
      await supplier.stop()
    }
    const records = readRecords(data)
    expect(openHolds(records)).toEqual([])
    expect(endsOf(records)).toHaveLength(CALLERS)
    expect(new Set(records.ends.map(({ status, state }) => `${status} ${state}`))).toEqual(
      new Set(['499 settled']),
    )
    await expectSoundBooks(data)
  },
  TEST_MS,
)
