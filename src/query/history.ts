import type { Range } from './range.ts'

/** Names whose events are read from an earlier time on: for what was a user's first. */
export interface History {
  /** Before the range begins. */
  readonly startMs: number
  /** Null: every name. They need not be among those that are asked for. */
  readonly eventNames: readonly string[] | null
}

/** Which events a question reads, up to the end of the range. */
export interface EventsRead {
  readonly range: Range
  /** Null: every name. */
  readonly eventNames: readonly string[] | null
  readonly history: History | null
}

/** Returns the time from which on any events are read. */
export function firstReadMs({ range, history }: Pick<EventsRead, 'range' | 'history'>): number {
  return Math.min(range.startMs, history?.startMs ?? Infinity)
}

/** Tells from when on the events of a name are read; Infinity where none are. */
export function openReadStarts(read: EventsRead) {
  const { range, eventNames, history } = read
  const isAsked = isAmong(eventNames)
  const isHistoric = history === null ? () => false : isAmong(history.eventNames)
  return (eventName: string): number => {
    if (isHistoric(eventName)) return firstReadMs(read)
    return isAsked(eventName) ? range.startMs : Infinity
  }
}

function isAmong(eventNames: readonly string[] | null): (eventName: string) => boolean {
  if (eventNames === null) return () => true
  const names = new Set(eventNames)
  return (eventName) => names.has(eventName)
}
