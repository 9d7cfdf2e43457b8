// Books that cannot be written, for as long as that lasts: nothing is sent to a supplier, what was under way
// ends and is settled later, and whoever asks how the gateway is learns it at once. Impossible books stop it.
import { afterEach, describe, expect, it, spyOn } from 'bun:test'
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { answerWith, readAsked, readKey } from './fakes/prices.ts'
import { createFolder, ROOT, runProcess, startProcess } from './fakes/process.ts'
import { endsOf, expectSoundBooks, openHolds, readRecords } from './fakes/records.ts'
import { closeStreet, createGate, readText, tidy, until } from './fakes/street.ts'
import {
  chunk,
  DONE,
  startFakeSupplier,
  USAGE,
  USAGE_CHUNK,
  type FakeSupplier,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const SECOND_MS = 1000
const MOUNT_BYTES = 8 * 1_048_576
const TRIES_MAX = 50

function run(...command: readonly string[]): boolean {
  return Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' }).exitCode === 0
}

/** A small disk of its own, if this user may have one. */
function mountDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-disk-'))
  if (run('mount', '-t', 'tmpfs', '-o', `size=${MOUNT_BYTES}`, 'tmpfs', folder)) return folder
  rmSync(folder, { recursive: true })
  return undefined
}

function unmount(folder: string): void {
  run('umount', '-l', folder)
  rmSync(folder, { recursive: true, force: true })
}

const canMount = ((): boolean => {
  const disk = mountDisk()
  if (disk !== undefined) unmount(disk)
  return disk !== undefined
})()
if (!canMount) console.warn('skipped what needs a small disk: this user may not mount one')

/** Takes all that is left of a disk; a file system keeps some blocks for itself, so in ever smaller pieces. */
function fill(folder: string): void {
  for (let bytes = MOUNT_BYTES, piece = 0; bytes >= 1; piece++) {
    try {
      writeFileSync(join(folder, `ballast-${piece}`), Buffer.alloc(bytes))
    } catch {
      // What was written before the disk was full stays, and takes its room.
      bytes = Math.floor(bytes / 2)
    }
  }
}

interface Fault {
  readonly name: string
  readonly needsDisk?: true
  /** Returns how it is undone. */
  readonly begin: (folder: string) => () => void
}

function byDatabase(folder: string, begin: string, end: string): () => void {
  const outsider = new Database(join(folder, 'gateway.db'))
  outsider.run(begin)
  return () => {
    outsider.run(end)
    outsider.close(true)
  }
}

const FAULTS: readonly Fault[] = [
  {
    name: 'locked by someone else',
    begin: (folder) => byDatabase(folder, 'BEGIN EXCLUSIVE', 'ROLLBACK'),
  },
  {
    name: 'that takes no hold',
    begin: (folder) =>
      byDatabase(
        folder,
        `CREATE TRIGGER refusal BEFORE INSERT ON holds BEGIN SELECT RAISE(ABORT, 'no'); END;
         CREATE TRIGGER refusal_too BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END`,
        'DROP TRIGGER refusal; DROP TRIGGER refusal_too',
      ),
  },
  {
    name: 'on a disk that is full',
    needsDisk: true,
    begin: (folder) => {
      fill(folder)
      return () => run('sh', '-c', `rm ${join(folder, 'ballast-')}*`)
    },
  },
]

interface Scene {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly clock: FakeClock
  readonly folder: string
  readonly key: { readonly id: string; readonly key: string }
  readonly chat: (body: object) => Promise<Response>
  /** Lets the first call, which is a stream, come to its end. */
  readonly goOn: () => void
}

async function openScene(folder: string): Promise<Scene> {
  const gate = createGate()
  const supplier = tidy(
    await startFakeSupplier(async (request, reply, index) => {
      if (index > 0) return answerWith(reply, readAsked(request.body), USAGE)
      const stream = reply.stream()
      stream.send(chunk({ content: 'Hi' }))
      await gate.opened
      stream.send(chunk({}, 'stop') + USAGE_CHUNK + DONE)
      return stream.end()
    }),
  )
  const clock = createFakeClock()
  const environment = { GATEWAY_DATA: folder }
  const suppliers = [supplierAt(supplier.origin)]
  const gateway = tidy(await startGateway({ clock, environment, suppliers }))
  const key = await gateway.createKey({ name: 'payer', budget_limit: 1 })
  const headers = { authorization: `Bearer ${key.key}` }
  const chat = (body: object) => gateway.chat({ max_tokens: 10, ...body }, { headers })
  return { gateway, supplier, clock, folder, key, chat, goOn: gate.open }
}

/** Asks until the books are found out: a disk that is full may still have room for some lines. */
async function untilRefused({ chat }: Scene): Promise<Response> {
  let response = await chat(HELLO)
  for (let tries = 1; tries < TRIES_MAX && response.status === 200; tries++) {
    await response.text()
    response = await chat(HELLO)
  }
  return response
}

/** A stream that takes its time. */
function callDemo(url: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...HELLO, model: 'demo/slow', stream: true }),
  })
}

async function statusOf({ url }: Gateway, path: string): Promise<number> {
  const response = await fetch(url + path)
  await response.text()
  return response.status
}

describe.each(FAULTS.filter(({ needsDisk }) => canMount || needsDisk !== true))(
  'a database $name',
  ({ begin, needsDisk }) => {
    function place(): string {
      const disk = needsDisk === true ? mountDisk()! : createFolder().path
      tidy({
        async stop() {
          if (needsDisk === true) unmount(disk)
          else rmSync(disk, { recursive: true, force: true })
        },
      })
      return disk
    }

    it('lets no new call out, and says so wherever one asks', async () => {
      const scene = await openScene(place())
      const { gateway, supplier, folder } = scene
      const end = begin(folder)
      const refused = await untilRefused(scene)
      const asked = supplier.requests.length
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('1')
      expect(refused.headers.get('x-should-retry')).toBe('true')
      expect(await refused.json()).toMatchObject({ error: { code: 'billing_unavailable' } })
      for (const status of [503, 503]) expect((await scene.chat(HELLO)).status).toBe(status)
      expect(supplier.requests).toHaveLength(asked)
      expect(await statusOf(gateway, '/health')).toBe(503)
      expect(await statusOf(gateway, '/health/ready')).toBe(503)
      // The server itself is not held up by it.
      expect(await statusOf(gateway, '/health/live')).toBe(200)
      expect((await gateway.manage('GET', '/keys')).status).toBe(200)
      end()
    })

    it('settles what was under way as soon as it can, and then goes on as before', async () => {
      const scene = await openScene(place())
      const { gateway, folder, clock, key } = scene
      const reader = readText(await scene.chat({ ...HELLO, stream: true }))
      await reader.until('Hi')
      const first = readRecords(folder).holds[0]!
      const end = begin(folder)
      await (await untilRefused(scene)).text()
      const before = await readKey(gateway, key.id)
      scene.goOn()
      const text = await reader.rest()
      expect(text).toContain(': x-svc-settlement: pending\n')
      expect(text).toEndWith(DONE)
      clock.advance(3 * SECOND_MS)
      expect(await statusOf(gateway, '/health')).toBe(503)
      expect(await readKey(gateway, key.id)).toEqual(before)
      // Among them whoever was held with the last room there was, and could not be settled.
      const held = openHolds(readRecords(folder))
      expect(held).toContainEqual(first)
      expect(before.held).toBe(held.reduce((sum, { amount }) => sum + amount, 0))
      end()
      clock.advance(SECOND_MS)
      await until(() => openHolds(readRecords(folder)).length === 0)
      expect(await statusOf(gateway, '/health')).toBe(200)
      const paid = endsOf(readRecords(folder)).reduce((sum, { cost }) => sum + cost, 0)
      expect(await readKey(gateway, key.id)).toMatchObject({ used: paid, held: 0 })
      expect((await scene.chat(HELLO)).status).toBe(200)
      const ends = endsOf(readRecords(folder)).filter(({ hold }) => hold === first.number)
      expect(ends).toMatchObject([{ state: 'settled', evidence: 'reported', cost: 5850 }])
      await expectSoundBooks(folder)
    })
  },
)

describe('a data folder that is read-only', () => {
  it.skipIf(!canMount)('is refused at the start, with what to do', async () => {
    const disk = mountDisk()!
    tidy({ stop: async () => unmount(disk) })
    using folder = createFolder()
    const variables = { GATEWAY_DATA: join(disk, 'data') }
    const first = await startProcess(folder, variables)
    first.kill('SIGINT')
    expect(await first.exited).toBe(0)
    expect(run('mount', '-o', 'remount,ro', disk)).toBe(true)
    const { code, errors } = await runProcess(folder, variables)
    expect(code).toBe(1)
    expect(errors).toContain('cannot be written')
    expect(errors).toContain(join(disk, 'data'))
  })
})

describe('books in an impossible state', () => {
  /** Every request gets this id from now on: two calls at once are then one and the same. */
  const ID = '01a1de6c-08d5-7169-8c1b-41f6b2d25f67'

  it('stop the gateway the moment that they are seen', async () => {
    const faults: Error[] = []
    const gate = createGate()
    const supplier = tidy(await startFakeSupplier(async () => gate.opened))
    const gateway = tidy(
      await startGateway({
        suppliers: [supplierAt(supplier.origin)],
        halt: (fault) => void faults.push(fault),
      }),
    )
    // Of its two forms the types know the last, which nobody uses.
    const spy = spyOn(Bun as { randomUUIDv7: () => string }, 'randomUUIDv7').mockReturnValue(ID)
    const leaving = new AbortController()
    try {
      const first = gateway.chat(HELLO, { signal: leaving.signal })
      await supplier.request(0)
      const second = await gateway.chat(HELLO)
      expect(second.status).toBe(500)
      expect(faults.map(({ name, message }) => [name, message])).toEqual([
        ['LedgerFault', expect.stringContaining('an operation is held twice')],
      ])
      expect(supplier.requests).toHaveLength(1)
      leaving.abort()
      expect(await first.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    } finally {
      spy.mockRestore()
    }
  })

  it('end the process, which has every hold on its disk', async () => {
    using folder = createFolder()
    const patch = join(folder.path, 'patch.ts')
    writeFileSync(patch, `Bun.randomUUIDv7 = () => '${ID}'\n`)
    const command = [process.execPath, '--preload', patch, join(ROOT, 'src/main.ts')]
    const variables = { GATEWAY_ROOT_KEY: ROOT_KEY }
    const gateway = await startProcess(folder, variables, command)
    const reader = readText(await callDemo(gateway.url))
    await reader.until('data: ')
    const [, code] = await Promise.all([callDemo(gateway.url).catch(() => {}), gateway.exited])
    expect(code).toBe(70)
    await reader.rest().catch(() => {})
    const data = join(folder.path, 'data')
    expect(openHolds(readRecords(data))).toHaveLength(1)
    await using again = await startProcess(folder, variables)
    expect((await fetch(`${again.url}/health`)).status).toBe(200)
    expect(readRecords(data).notes).toMatchObject([{ kind: 'review' }])
    await expectSoundBooks(data)
  })
})
