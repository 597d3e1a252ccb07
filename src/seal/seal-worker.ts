import { systemClock as clock } from '../clock.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openSession } from '../store/session.ts'
import { serveTasks, threadStart } from '../threads.ts'
import type { SealStart, SealTask } from './seal-thread.ts'
import { openSealerOn } from './sealer-on.ts'

// The thread that seals, with a session of its own.

const { start, onWarning } = threadStart<SealStart>()
const metrics = declareMetrics({ isThread: true })
const log = openLog(start.logLevel)
const session = await openSession({ ...start.database, metrics, onWarning, log })
const sealer = openSealerOn(session, { clock, metrics, log })
if (start.isSealing) sealer.start()

async function answer(task: SealTask): Promise<unknown> {
  switch (task.kind) {
    case 'sealNow':
      return await sealer.sealNow(task.projectId)
    case 'metrics':
      return await metrics.registry.getMetricsAsJSON()
  }
}

serveTasks(answer, async () => {
  await sealer.close()
  await session.close()
})
