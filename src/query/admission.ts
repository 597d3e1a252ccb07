import pLimit from 'p-limit'
import { AppError } from '../error.ts'
import type { Metrics } from '../metrics.ts'

export type Admission = ReturnType<typeof openAdmission>

/** A question that waits takes little; dashboards ask dozens at once. */
const WAITING_MAX = 256

/**
 * Lets so many questions of a kind be answered at a time, and 256 more wait; the next one is OVERLOADED
 * at once, before it takes memory. Measures each, by outcome.
 */
export function openAdmission(dependencies: {
  readonly kind: 'funnel' | 'counts' | 'user' | 'search' | 'names' | 'erasure'
  readonly inFlightMax: number
  readonly metrics: Metrics
}) {
  const { kind, inFlightMax, metrics } = dependencies
  const limit = pLimit(inFlightMax)

  return async <T>(answer: () => Promise<T>): Promise<T> => {
    const endTimer = metrics.query.startTimer({ kind })
    try {
      if (limit.pendingCount >= WAITING_MAX)
        throw new AppError('OVERLOADED', 'too many questions at once')
      const answered = await limit(answer)
      endTimer({ outcome: 'ok' })
      return answered
    } catch (error) {
      endTimer({ outcome: error instanceof AppError ? error.code : 'INTERNAL' })
      throw error
    }
  }
}
