import type { Rows, Span } from './merge-runs.ts'
import { compareCodes } from './text-codes.ts'

/** What the events of each user of a fold group have been seen to hold. */
export interface EntryValues {
  /** By user, when the earliest entry was that was met (Infinity: none), and its code: of several, the smallest. */
  readonly firstMs: Float64Array
  readonly codes: Uint32Array
  /** By user, 1 where entries of several values were met. */
  readonly areSeveral: Uint8Array
  /** By user, 1 where a step that is no entry holds a value. */
  readonly haveLater: Uint8Array
}

export type EntryValueNotes = ReturnType<typeof openEntryValues>

/**
 * Notes the values of entries, met in any order. They tell the value to break down by for a user whose entries all hold
 * one, whichever of them the best chain begins with; and for one who comes no further, whose earliest entry is the
 * best chain. Most users are one or the other. `texts` are by code.
 */
export function openEntryValues(texts: readonly (string | null)[]) {
  const free: EntryValues[] = []

  function noteEntry(values: EntryValues, owner: number, atMs: number, code: number): void {
    const { firstMs, codes, areSeveral } = values
    const known = firstMs[owner]!
    if (known !== Infinity && codes[owner] !== code) areSeveral[owner] = 1
    if (atMs < known || (atMs === known && compareCodes(texts, code, codes[owner]!) < 0)) {
      firstMs[owner] = atMs
      codes[owner] = code
    }
  }

  return {
    open(userCount: number): EntryValues {
      const used = free.pop()
      const isUsable = used !== undefined && used.codes.length === userCount
      const flags = () => new Uint8Array(userCount)
      const values = isUsable
        ? used
        : {
            ...{ firstMs: new Float64Array(userCount), codes: new Uint32Array(userCount) },
            ...{ areSeveral: flags(), haveLater: flags() },
          }
      values.firstMs.fill(Infinity)
      values.areSeveral.fill(0)
      values.haveLater.fill(0)
      return values
    },

    /**
     * Takes the rows of a span, of a day that begins at `startMs`. Without `areLaterAsked`, only entries are looked at.
     */
    note(
      values: EntryValues,
      { timeMs, user, mask, code }: Rows,
      { from, to }: Span,
      { startMs, areLaterAsked }: { readonly startMs: number; readonly areLaterAsked: boolean },
    ): void {
      const { haveLater } = values
      for (let row = from; row < to; row++) {
        const own = mask[row]!
        if (areLaterAsked && (own & ~1) !== 0 && code[row] !== 0) haveLater[user[row]!] = 1
        if ((own & 1) === 1) noteEntry(values, user[row]!, startMs + timeMs[row]!, code[row]!)
      }
    },

    /**
     * Makes of `areSeveral` the flags of users for whom the entries do not tell the value, given how many steps each
     * has. Returns whether there is any such user.
     */
    flagUndecided({ codes, areSeveral, haveLater }: EntryValues, furthest: Uint8Array): boolean {
      let isAny = false
      for (let user = 0; user < furthest.length; user++) {
        const isUndecided = areSeveral[user] === 1 || (codes[user] === 0 && haveLater[user] === 1)
        areSeveral[user] = Number(isUndecided && furthest[user]! > 1)
        isAny ||= areSeveral[user] === 1
      }
      return isAny
    },

    /** Gives the notes back, for their arrays to be used again. */
    release: (values: EntryValues) => void free.push(values),
  }
}
