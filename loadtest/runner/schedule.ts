/**
 * When iterations of k6's arrival-rate executors are due, in milliseconds since the scenario began, in
 * order. What is due does not depend on how fast answers come: that is what makes the model open.
 */

export interface Stage {
  readonly durationMs: number
  /** The rate at its end, in iterations a time unit; it changes evenly until then. */
  readonly target: number
}

/** `constant-arrival-rate`: evenly spaced, the first at once. The end is excluded. */
export function* constantStarts(plan: {
  readonly rate: number
  readonly timeUnitMs: number
  readonly durationMs: number
}): Generator<number> {
  for (let count = 0; ; count++) {
    const dueMs = (count * plan.timeUnitMs) / plan.rate
    if (dueMs >= plan.durationMs) return
    yield dueMs
  }
}

/**
 * `ramping-arrival-rate`: the n-th iteration, counted from 1, is due when the integral of the rate over
 * time reaches n. What a stage does not complete is carried into the next one.
 */
export function* rampingStarts(plan: {
  readonly startRate: number
  readonly timeUnitMs: number
  readonly stages: readonly Stage[]
}): Generator<number> {
  let [stageStartMs, before, next] = [0, 0, 1]
  let from = plan.startRate / plan.timeUnitMs
  for (const { durationMs, target } of plan.stages) {
    const to = target / plan.timeUnitMs
    const within = ((from + to) / 2) * durationMs
    const slope = durationMs === 0 ? 0 : (to - from) / durationMs
    for (; next <= before + within; next++) {
      const wanted = next - before
      // The smaller root of slope/2 x² + from x = wanted, in the form that has no 0/0 on a flat stage.
      const root = Math.sqrt(Math.max(0, from * from + 2 * slope * wanted))
      yield stageStartMs + (2 * wanted) / (from + root)
    }
    before += within
    stageStartMs += durationMs
    from = to
  }
}
