/** The steps of an answer, with times where a step has them: median, mean and 90th percentile. */
export function answerSteps(
  ...counts: readonly (readonly [label: string, users: number, ...times: number[]])[]
) {
  return counts.map(([label, users, medianMs = null, meanMs = null, p90Ms = null], index) => {
    const share = (of: number) => (of === 0 ? 0 : users / of)
    const fromPrevious = share(counts[Math.max(index - 1, 0)]![1])
    return {
      ...{ label, users, fromPrevious, fromFirst: share(counts[0]![1]) },
      ...{ medianMs, meanMs, p90Ms },
    }
  })
}

/** An answer as the service gives it, of 2 steps and 8 users. */
export const FUNNEL_ANSWER = {
  steps: answerSteps(['page_view', 8], ['purchase', 2]),
  ...{ unit: 'users', asOf: '2026-11-30T00:00:00.000Z', definition: 'Users by this and that.' },
  ...{ warnings: [] as string[], source: 'segments', ageMs: 0 },
  read: { partitions: 2, bytes: 80, events: 10, cacheHitBytes: 0 },
  tookMs: { plan: 1, read: 1, fold: 1, total: 3 },
}
