import { BUCKET_COUNT } from '../event/bucket.ts'

const SLOTS_MIN = 16
const LOAD_MAX = 0.8
const GROWTH = 1.5
const ABSENT = -1

interface BucketTable {
  /** Three words a slot: the key's two, and n + 1; 0 where the slot is free. */
  slots: Uint32Array
  count: number
  /** The next free n: after the largest that was put in, whoever has it. */
  next: number
}

export type UserMap = ReturnType<typeof openUserMap>

/**
 * Users by the 64-bit key of their id, bucket by bucket, each with its n: the user's number is
 * `n * 1000 + bucket`. Open addressing, 12 bytes a slot and 18 a user; a bucket grows alone.
 */
export function openUserMap() {
  const tables = new Array<BucketTable | undefined>(BUCKET_COUNT).fill(undefined)
  let total = 0

  function slotOf(slots: Uint32Array, high: number, low: number): number {
    const count = slots.length / 3
    let slot = (Math.imul(high, 0x9e37_79b1) ^ Math.imul(low, 0x85eb_ca77)) >>> 0
    slot = slot % count
    while (slots[3 * slot + 2] !== 0) {
      if (slots[3 * slot] === high && slots[3 * slot + 1] === low) return slot
      slot = slot + 1 === count ? 0 : slot + 1
    }
    return slot
  }

  function grow(table: BucketTable): void {
    const { slots: old } = table
    const slotCount = Math.max(SLOTS_MIN, Math.ceil((old.length / 3) * GROWTH))
    const slots = new Uint32Array(3 * slotCount)
    for (let at = 0; at < old.length; at += 3) {
      if (old[at + 2] === 0) continue
      const slot = slotOf(slots, old[at]!, old[at + 1]!)
      slots.set(old.subarray(at, at + 3), 3 * slot)
    }
    table.slots = slots
  }

  return {
    /** Returns the n of a user; -1 for one that is not in. */
    find(bucket: number, high: number, low: number): number {
      const slots = tables[bucket]?.slots
      if (slots === undefined) return ABSENT
      return slots[3 * slotOf(slots, high, low) + 2]! - 1
    },

    /** Puts a user in. One who has several, having been erased between, is found by the newest. */
    set(bucket: number, high: number, low: number, n: number): void {
      const table = (tables[bucket] ??= { slots: new Uint32Array(0), count: 0, next: 0 })
      if (table.count + 1 > (LOAD_MAX * table.slots.length) / 3) grow(table)
      const at = 3 * slotOf(table.slots, high, low)
      if (table.slots[at + 2] === 0) {
        table.count++
        total++
      }
      table.slots[at] = high
      table.slots[at + 1] = low
      table.slots[at + 2] = Math.max(table.slots[at + 2]!, n + 1)
      table.next = Math.max(table.next, n + 1)
    },

    /** The next free n of a bucket. */
    nextOf: (bucket: number) => tables[bucket]?.next ?? 0,

    size: () => total,
  }
}
