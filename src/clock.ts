/** The only reader of the clocks. Passed down as a value, so that tests can turn it. */
export interface Clock {
  /** Milliseconds since 1970, by this machine's wall clock. */
  readonly nowMs: () => number
  /** Milliseconds since an arbitrary moment; never goes back. */
  readonly monotonicMs: () => number
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
