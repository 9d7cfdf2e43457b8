// A call that is held in the very moment in which the process cuts everything has no attempt that could be cut.
import { expect, it } from 'bun:test'
import { openRoom } from '../../test/fakes/ledger.ts'
import type { Held, Plant } from './call.ts'
import { dispatchStream, dispatchUnary } from './dispatch.ts'

it.each([dispatchUnary, dispatchStream])(
  'nobody is asked once the books are stopped',
  async (dispatch) => {
    const { ledger } = await openRoom()
    ledger.stop()
    const call = { attempts: [{}], tries: [], prices: [], heldAtMs: 0, startedMs: 0 }
    const plant = { ledger, limits: { attemptsMax: 3 } }
    const thrown = await dispatch(call as unknown as Held, plant as Plant).catch(
      (cause: unknown) => cause,
    )
    expect(thrown).toMatchObject({ code: 'pod_draining', status: 503 })
    expect(call.tries).toEqual([])
  },
)
