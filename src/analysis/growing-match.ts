import { below, bitOf, lowestStep } from './step-bits.ts'

/**
 * Gives steps to events that come one by one, each step an event of its own: by augmenting paths (Kuhn 1955). What one
 * more event would have to be is known beforehand, so those that cannot help are passed over.
 */
export function openGrowingMatch(stepCount: number) {
  /** By step, what the event that has it could be; 0 where none has it. */
  const maskOf = new Int32Array(stepCount)
  let seen = 0
  let wanted = 0

  /** The steps without an event, and those whose event could be one of these instead. */
  function noteWanted(): void {
    wanted = 0
    for (let step = 0; step < stepCount; step++) if (maskOf[step] === 0) wanted |= bitOf(step)
    for (let before = 0; before !== wanted;) {
      before = wanted
      for (let step = 0; step < stepCount; step++)
        if ((maskOf[step]! & wanted) !== 0) wanted |= bitOf(step)
    }
  }

  function place(mask: number): boolean {
    for (let rest = mask & wanted & ~seen; rest !== 0; rest = mask & wanted & ~seen) {
      const step = lowestStep(rest)
      seen |= bitOf(step)
      if (maskOf[step] !== 0 && !place(maskOf[step]!)) continue
      maskOf[step] = mask
      return true
    }
    return false
  }

  return {
    clear(): void {
      maskOf.fill(0)
      wanted = below(stepCount)
    },

    /** Returns the steps of which a further event must have one. */
    wanted: () => wanted,

    /** Takes an event if there is then one step more that has one; returns whether. */
    add(mask: number): boolean {
      if ((mask & wanted) === 0) return false
      seen = 0
      place(mask)
      noteWanted()
      return true
    },
  }
}
