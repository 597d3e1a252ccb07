const SLOT_COUNT = 1 << 17

export type UserGuard = ReturnType<typeof openUserGuard>

/**
 * Keeps a single user from filling a partition: counts events per (project, user, event day) in this
 * process, in 1 MB. Each slot of a table holds the fingerprint of one key and its count; another key
 * that falls on the slot takes one off, and takes the slot over at zero (Boyer and Moore's majority
 * vote, 1991, as Misra and Gries use it). So a count is exact while a key has its slot alone, and never
 * too high: no user is refused before `eventsMax`, and a hot one soon after.
 */
export function openUserGuard(eventsMax: number) {
  const fingerprints = new Uint32Array(SLOT_COUNT)
  const counts = new Uint32Array(SLOT_COUNT)

  function placeOf(projectId: string, userId: string, day: number) {
    const [low, high] = hash64(projectId, userId, day)
    return { slot: low & (SLOT_COUNT - 1), fingerprint: (high | 1) >>> 0 } // 0 is an empty slot.
  }

  return {
    /** Counts one event; returns false when this user has had all its events of that day. */
    admit(projectId: string, userId: string, day: number): boolean {
      const { slot, fingerprint } = placeOf(projectId, userId, day)
      if (fingerprints[slot] === fingerprint) {
        if (counts[slot]! >= eventsMax) return false
        counts[slot]!++
      } else if (counts[slot]! > 0) {
        counts[slot]!--
      } else {
        fingerprints[slot] = fingerprint
        counts[slot] = 1
      }
      return true
    },

    /** Takes back an event that was admitted and then not stored: its sender will send it again. */
    withdraw(projectId: string, userId: string, day: number): void {
      const { slot, fingerprint } = placeOf(projectId, userId, day)
      if (fingerprints[slot] === fingerprint && counts[slot]! > 0) counts[slot]!--
    },
  }
}

/** Two 32-bit halves that differ in every bit with the key: cyrb53's mixing (bryc, public domain). */
function hash64(projectId: string, userId: string, day: number): [number, number] {
  let low = 0xdeadbeef ^ day
  let high = 0x41c6ce57 ^ day
  const mix = (unit: number) => {
    low = Math.imul(low ^ unit, 0x9e3779b1)
    high = Math.imul(high ^ unit, 0x5f356495)
  }
  for (const text of [projectId, userId]) {
    for (let index = 0; index < text.length; index++) mix(text.charCodeAt(index))
    mix(0x10000) // No text holds this unit, so it tells where one ends.
  }
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35)
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35)
  return [low >>> 0, high >>> 0]
}
