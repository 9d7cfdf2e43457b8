// The Worker in which every slow read runs, so that no report can delay a call. It knows no table: SQL
// comes in, rows go out. A compiled program carries this one file as it stands, untranslated, so it is
// plain JavaScript without a type in it and imports nothing but built-in modules.
import { Database } from 'bun:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

// Integers arrive as BigInt: a sum of amounts may exceed what a number holds exactly.
const database = new Database(String(workerData), { readonly: true, safeIntegers: true })
database.run('PRAGMA busy_timeout = 1000')

// A message is a `ReaderMessage` of `reads.ts`.
parentPort?.on('message', (message) => {
  if (message === 'close') {
    database.close(true)
    parentPort?.close()
    return
  }
  let rows, failure
  try {
    rows = database.query(message.sql).all(...message.parameters)
  } catch (thrown) {
    failure = String(thrown)
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage({ id: message.id, rows, failure })
})
