/** What a property can be asked about. Objects, arrays and null are not values: they count as missing. */
export type Value = string | number | boolean

/**
 * One field of a run of events, by dictionary: row r holds `values[codes[r]]`. `values[0]` is null and
 * stands for a missing value; no other entry is null and none stands twice.
 */
export interface CodedColumn {
  readonly codes: Uint8Array | Uint16Array | Uint32Array
  readonly values: readonly (Value | null)[]
}

/** The events of one name and one day within a fold group, in time order. */
export interface Run {
  readonly eventName: string
  readonly rowCount: number
  /** Milliseconds of the day, ascending. */
  readonly timeMs: Uint32Array
  /** Positions of the events' users within the fold group. */
  readonly user: Uint16Array | Uint32Array
  /** By dotted path; only those that the question names. A path that is absent is missing in every row. */
  readonly properties: ReadonlyMap<string, CodedColumn>
}

/**
 * The events of one fold group and one UTC day: the shape that every analysis folds over. Several runs may
 * be of one name; a name that a question does not need is left out.
 */
export interface DayRuns {
  readonly day: number
  readonly runs: readonly Run[]
}

/**
 * Where folds ask for the session id of an event, as if it were a property. No question can name it, and
 * `forEachProperty` never takes it, since half of a surrogate pair is in it. An event's own key that reads like it
 * is stored and never looked at: ask for this path before `propertyAt` is.
 */
export const SESSION_ID_PATH = '\ud800sessionId'
