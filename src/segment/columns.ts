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

/** The events of one fold group, in time order; the shape that every analysis folds over. */
export interface Columns {
  readonly rowCount: number
  /** Milliseconds since 1970, ascending. */
  readonly timeMs: Float64Array
  /** Position of the event's user within the fold group. */
  readonly user: Uint16Array | Uint32Array
  /** Event names. */
  readonly event: CodedColumn
  /** By dotted path; only those that the question names. */
  readonly properties: ReadonlyMap<string, CodedColumn>
}
