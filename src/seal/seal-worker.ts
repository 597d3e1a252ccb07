import { systemClock as clock } from '../clock.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openRowWriter } from '../store/row-writer.ts'
import { openSession } from '../store/session.ts'
import { openStores } from '../store/stores.ts'
import { serveTasks, threadStart } from '../threads.ts'
import type { SealStart, SealTask } from './seal-thread.ts'
import { openSealer } from './sealer.ts'

// The thread that seals, with a session of its own.

/** Of rows that dead writers left out: not many, and not in a hurry. */
const BATCHES_IN_FLIGHT_MAX = 8

const { start, onWarning } = threadStart<SealStart>()
const metrics = declareMetrics({ isThread: true })
const log = openLog(start.logLevel)
const session = await openSession({ ...start.database, metrics, onWarning, log })
const stores = openStores(session)
const rows = openRowWriter({ ...stores, metrics, batchesInFlightMax: BATCHES_IN_FLIGHT_MAX })
const sealer = openSealer({ stores, rows, clock, metrics, log })
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
