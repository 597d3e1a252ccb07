import type { Funnel } from '../analysis/funnel.ts'
import type { FunnelCounts } from '../analysis/tally.ts'
import type { Clock } from '../clock.ts'
import { mergeBounded } from './merge-bounded.ts'
import type { RawEvents, RawPlan, RawRead, ReadAmounts } from './raw-events.ts'

/**
 * Folds the raw rows that were planned: bucket by bucket, or all at once where values are counted. Throws what
 * `RawEvents` and `mergeBounded` do.
 */
export async function foldRows(
  rawEvents: RawEvents,
  read: RawRead,
  plan: RawPlan,
  { funnel, monotonicMs }: { readonly funnel: Funnel; readonly monotonicMs: Clock['monotonicMs'] },
): Promise<{ counts: FunnelCounts; amounts: ReadAmounts; foldMs: number }> {
  let counts = funnel.empty()
  let foldMs = 0
  const scan = read.countBy === null ? rawEvents.forEachBucket : rawEvents.forAllBuckets
  const amounts = await scan(read, plan, ({ days, userCount }) => {
    const startMs = monotonicMs()
    const group = funnel.openGroup(userCount)
    for (const day of days) group.fold(day)
    counts = mergeBounded(funnel, counts, group.close())
    foldMs += monotonicMs() - startMs
  })
  return { counts, amounts, foldMs }
}
