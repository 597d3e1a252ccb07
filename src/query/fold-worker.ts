import { systemClock as clock } from '../clock.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openObjects } from '../store/objects.ts'
import { openSession } from '../store/session.ts'
import { serveTasks, threadStart } from '../threads.ts'
import { openFetch } from './fetch-columns.ts'
import { openFolds } from './fold-sections.ts'
import { openValueNumbers } from './number-values.ts'
import { placeSection } from './place-section.ts'
import { replaceSection } from './replace-section.ts'
import type { FoldStart, Task } from './worker-messages.ts'

// One of the threads that questions are answered in: it reads columns through a session of its own, and
// folds them.

const { start, onWarning } = threadStart<FoldStart>()
const metrics = declareMetrics({ isThread: true })
const log = openLog(start.logLevel)
const session = await openSession({
  ...start.database,
  ...{ metrics, onWarning, log, areBlobsViews: true },
})
const objects = openObjects(session)
const fetchColumns = openFetch(objects)
const folds = openFolds(clock.monotonicMs)
const valueNumbers = openValueNumbers()

async function answer(task: Task): Promise<unknown> {
  switch (task.kind) {
    case 'fetch':
      return await fetchColumns(task)
    case 'fold':
      return folds.fold(task)
    case 'list':
      return folds.list(task)
    case 'replace':
      return replaceSection(task)
    case 'number':
      return valueNumbers.number(task)
    case 'texts':
      return valueNumbers.texts(task)
    case 'place':
      return placeSection(task)
    case 'forget':
      return valueNumbers.forget(task.numbering)
    case 'metrics':
      return await metrics.registry.getMetricsAsJSON()
  }
}

serveTasks(answer, session.close)
