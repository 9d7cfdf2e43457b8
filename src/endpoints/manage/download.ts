// A list as a file. Pages are read as fast as the caller takes them and no faster, and a file that cannot
// be finished breaks off with the connection: it must never look complete.
import { createTurns } from '../../core/turns.ts'
import { idHeaders } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { Log } from '../../observe/log.ts'
import type { Page, PageRequest } from '../../store/store.ts'

export interface FileForm<Item> {
  readonly name: string
  readonly contentType: string
  /** What stands before the first line, if anything. */
  readonly head: string
  readonly toLine: (item: Item) => string
}

export interface Source<Item> {
  readonly read: (page: PageRequest) => Promise<Page<Item>>
  readonly cursor: string | undefined
  /** How many items at most. */
  readonly limit: number | undefined
}

/** About a millisecond of work for a thread that has calls to serve. */
const PAGE_ITEMS = 250

/**
 * One page at a time of all downloads together, because they share that thread. A second would make no
 * file come sooner, and every call wait for two pages where it now waits for one.
 */
const turns = createTurns(1)

const encoder = new TextEncoder()

/** The first page is read before anything is sent, so that what is wrong with the request is still told. */
export async function download<Item>(
  exchange: Exchange,
  source: Source<Item>,
  form: FileForm<Item>,
  log: Log,
): Promise<Response> {
  const pieces = piecesOf(source, form)
  // Asked for before the wait, or it would not tell of a caller who left meanwhile.
  const { signal } = exchange
  const first = await turns.take(() => (signal.aborted ? undefined : pieces.next()))
  return new Response(streamOf(pieces, first?.value ?? '', exchange, log), {
    headers: {
      'content-type': form.contentType,
      'content-disposition': `attachment; filename="${form.name}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...idHeaders(exchange.id),
    },
  })
}

/** The text of one page after another; empty where a page had nothing. */
async function* piecesOf<Item>(source: Source<Item>, form: FileForm<Item>): AsyncGenerator<string> {
  let { cursor, limit: left = Number.POSITIVE_INFINITY } = source
  let head = form.head
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const page = await source.read({ limit: Math.min(left, PAGE_ITEMS), cursor })
    yield head + page.items.map(form.toLine).join('')
    head = ''
    left -= page.items.length
    cursor = page.next
  } while (cursor !== undefined && left > 0)
}

function streamOf(
  pieces: AsyncGenerator<string>,
  first: string,
  exchange: Exchange,
  log: Log,
): ReadableStream<Uint8Array> {
  let ready = first
  let hasLeft = false

  /** Undefined at the end, and for whom nobody waits. */
  const take = async (): Promise<string | undefined> => {
    let text = ready
    ready = ''
    while (text === '') {
      // oxlint-disable-next-line no-await-in-loop -- an empty page has nothing to send; its successor may
      const piece = await turns.take(() => (hasLeft ? undefined : pieces.next()))
      if (piece === undefined || piece.done === true) return undefined
      text = piece.value
    }
    return text
  }

  return new ReadableStream(
    {
      async pull(controller) {
        // Silence while we look counts against nobody; silence of a caller who does not read does.
        exchange.keepOpen()
        try {
          const text = await take()
          if (hasLeft) return
          if (text === undefined) controller.close()
          else controller.enqueue(encoder.encode(text))
        } catch (thrown) {
          log.note('error', 'download broken off', { id: exchange.id, cause: String(thrown) })
          controller.error(thrown)
        } finally {
          if (!hasLeft) exchange.letGo()
        }
      },
      cancel() {
        hasLeft = true
      },
    },
    // Nothing is read before it is asked for.
    { highWaterMark: 0 },
  )
}
