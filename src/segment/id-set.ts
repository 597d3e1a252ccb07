const SLOTS_MIN = 1_024
const LOAD_MAX = 0.7

export type IdSet = ReturnType<typeof openIdSet>

/** A set of 64-bit ids, two words each, by open addressing: 8 bytes a slot. */
export function openIdSet() {
  let slots = new Uint32Array(2 * SLOTS_MIN)
  let count = 0
  let hasZero = false

  // A slot of two zeros is empty; the id of two zeros is told apart.
  function place(table: Uint32Array, high: number, low: number): number {
    const mask = table.length / 2 - 1
    let slot = (high ^ low) & mask
    while (table[2 * slot] !== 0 || table[2 * slot + 1] !== 0) {
      if (table[2 * slot] === high && table[2 * slot + 1] === low) return slot
      slot = (slot + 1) & mask
    }
    return slot
  }

  function grow(): void {
    const grown = new Uint32Array(2 * slots.length)
    for (let at = 0; at < slots.length; at += 2) {
      if (slots[at] === 0 && slots[at + 1] === 0) continue
      const slot = place(grown, slots[at]!, slots[at + 1]!)
      grown[2 * slot] = slots[at]!
      grown[2 * slot + 1] = slots[at + 1]!
    }
    slots = grown
  }

  function has(high: number, low: number): boolean {
    if (high === 0 && low === 0) return hasZero
    const slot = place(slots, high, low)
    return slots[2 * slot] !== 0 || slots[2 * slot + 1] !== 0
  }

  return {
    has,

    /** Adds an id; returns whether it was new. */
    add(high: number, low: number): boolean {
      if (has(high, low)) return false
      count++
      if (high === 0 && low === 0) {
        hasZero = true
        return true
      }
      if (count > (LOAD_MAX * slots.length) / 2) grow()
      const slot = place(slots, high, low)
      slots[2 * slot] = high
      slots[2 * slot + 1] = low
      return true
    },

    size: () => count,
  }
}
