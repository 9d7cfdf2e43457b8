// Reloading the configuration again and again under load. No caller may notice.
import { gateway } from '../candidates/gateway.ts'
import type { Contender } from '../candidates/candidate.ts'
import { orderFor } from './probe.ts'
import type { Outcome, Scenario, Stage } from './scenario.ts'

const KIND = { bytes: 1024, isStream: false }
const SECONDS = 3
const BETWEEN_MS = 100

export const reload: Scenario = {
  id: 'reload',
  title: 'reload under load',
  needsField: false,
  async run(stage) {
    const contender = await gateway.open(stage.site)
    try {
      const status = await askReload(contender)
      if (status === 404) return { skipped: 'this gateway has no POST /v1/manage/reload' }
      if (status >= 300) return { problems: [`reload: refused with ${status}`] }
      return await reloadUnderLoad(contender, stage)
    } finally {
      await contender.running.stop()
    }
  },
}

async function reloadUnderLoad(contender: Contender, stage: Stage): Promise<Outcome> {
  const { callers } = stage.options
  const load = stage.load.run({ ...orderFor(contender, KIND), callers, seconds: SECONDS })
  const statuses: number[] = []
  const timer = setInterval(() => {
    // Zero is no status: the gateway did not answer at all.
    void askReload(contender).then(
      (status) => statuses.push(status),
      () => statuses.push(0),
    )
  }, BETWEEN_MS)
  const { calls, failed, complaint } = await load.finally(() => clearInterval(timer))
  const refused = statuses.find((status) => status < 200 || status >= 300)
  return {
    measures: [
      {
        label: `calls failed during ${statuses.length} reloads`,
        value: failed,
        unit: 'calls',
        atMost: 0,
      },
      { label: 'calls answered meanwhile', value: calls - failed, unit: 'calls' },
    ],
    problems: [
      ...(failed > 0 ? [`reload: ${failed} of ${calls} calls failed: ${complaint}`] : []),
      ...(refused === undefined ? [] : [`reload: refused with ${refused} under load`]),
    ],
  }
}

async function askReload({ running, headers, ...contender }: Contender): Promise<number> {
  contender.changeConfiguration?.()
  const response = await fetch(`${running.url}/v1/manage/reload`, { method: 'POST', headers })
  await response.body?.cancel()
  return response.status
}
