import type { Rows, Span } from './merge-runs.ts'

const UNSEEN = 0xffff_ffff

/** What the events of each user of a fold group have been seen to hold. */
export interface EntryValues {
  /** By user, the code of the first entry that was met; meaningless for users without one. */
  readonly codes: Uint32Array
  /** By user, 1 where entries of several values were met. */
  readonly areSeveral: Uint8Array
  /** By user, 1 where a step that is no entry holds a value. */
  readonly haveLater: Uint8Array
}

/**
 * Notes the values of entries, met in any order. For a user whose entries all hold one value, which most do, that is
 * the value to break down by, whichever entry the best chain begins with.
 */
export function openEntryValues() {
  const free: EntryValues[] = []
  return {
    open(userCount: number): EntryValues {
      const used = free.pop()
      const isUsable = used !== undefined && used.codes.length === userCount
      const flags = () => new Uint8Array(userCount)
      const values = isUsable
        ? used
        : { codes: new Uint32Array(userCount), areSeveral: flags(), haveLater: flags() }
      values.codes.fill(UNSEEN)
      values.areSeveral.fill(0)
      values.haveLater.fill(0)
      return values
    },

    /** Takes the rows of a span. Without `areLaterAsked`, only entries are looked at. */
    note(
      { codes, areSeveral, haveLater }: EntryValues,
      { user, mask, code }: Rows,
      { from, to }: Span,
      areLaterAsked: boolean,
    ): void {
      for (let row = from; row < to; row++) {
        const own = mask[row]!
        const owner = user[row]!
        if (areLaterAsked && (own & ~1) !== 0 && code[row] !== 0) haveLater[owner] = 1
        if ((own & 1) === 0) continue
        const known = codes[owner]!
        if (known === UNSEEN) codes[owner] = code[row]!
        else if (known !== code[row]) areSeveral[owner] = 1
      }
    },

    /**
     * Makes of `areSeveral` the flags of users for whom the entries do not tell the value: there are several, or
     * none where later steps hold one. Returns whether there is any such user.
     */
    flagUndecided({ codes, areSeveral, haveLater }: EntryValues): boolean {
      let isAny = false
      for (let user = 0; user < codes.length; user++) {
        if (codes[user] === 0 && haveLater[user] === 1) areSeveral[user] = 1
        isAny ||= areSeveral[user] === 1
      }
      return isAny
    },

    /** Gives the notes back, for their arrays to be used again. */
    release: (values: EntryValues) => void free.push(values),
  }
}
