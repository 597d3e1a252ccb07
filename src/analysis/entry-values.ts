import type { Rows, Span } from './merge-runs.ts'

const UNSEEN = 0xffff_ffff

/** What the entries of each user of a fold group have been seen to hold. */
export interface EntryValues {
  /** By user, the code of the first entry that was met; meaningless for users without one. */
  readonly codes: Uint32Array
  /** By user, 1 where entries of several values were met. */
  readonly areSeveral: Uint8Array
  isAnySeveral: boolean
}

export type EntryValueNotes = ReturnType<typeof openEntryValues>

/**
 * Notes the values of entries, met in any order. For a user whose entries all hold one value, which most
 * do, that is the value to break down by, whichever entry the best chain begins with.
 */
export function openEntryValues() {
  const free: EntryValues[] = []
  return {
    open(userCount: number): EntryValues {
      const used = free.pop()
      const isUsable = used !== undefined && used.codes.length === userCount
      const values = isUsable
        ? used
        : { codes: new Uint32Array(userCount), areSeveral: new Uint8Array(userCount) }
      values.codes.fill(UNSEEN)
      values.areSeveral.fill(0)
      return Object.assign(values, { isAnySeveral: false })
    },

    /** Takes those rows of a span that are entries. */
    note(values: EntryValues, { user, mask, code }: Rows, { from, to }: Span): void {
      const { codes, areSeveral } = values
      for (let row = from; row < to; row++) {
        if ((mask[row]! & 1) === 0) continue
        const owner = user[row]!
        const known = codes[owner]!
        if (known === UNSEEN) codes[owner] = code[row]!
        else if (known !== code[row]) {
          areSeveral[owner] = 1
          values.isAnySeveral = true
        }
      }
    },

    /** Gives the notes back, for their arrays to be used again. */
    release: (values: EntryValues) => void free.push(values),
  }
}
