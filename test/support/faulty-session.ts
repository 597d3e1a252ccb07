import type { Session, Statement } from '../../src/store/session.ts'

/** A statement on its way to Cassandra. */
export interface Call {
  readonly statement: Statement
  readonly values: readonly unknown[]
}

export type Around = <T>(call: Call, run: () => Promise<T>) => Promise<T>

/** A real session whose every statement goes through `around`, which may delay it, fail it, or both. */
export function sessionAround(session: Session, around: Around): Session {
  return {
    ...session,
    execute: (statement, values = []) =>
      around({ statement, values }, () => session.execute(statement, values)),
    compareAndSet: (statement, values) =>
      around({ statement, values }, () => session.compareAndSet(statement, values)),
    page: (statement, values, place) =>
      around({ statement, values }, () => session.page(statement, values, place)),
    batch: (statement, items, routingKey) =>
      around({ statement, values: [] }, () => session.batch(statement, items, routingKey)),
    async *pages(statement, values, pageRowsMax) {
      await around({ statement, values }, () => Promise.resolve())
      yield* session.pages(statement, values, pageRowsMax)
    },
  }
}

/** Whether a statement changes what is published. */
export function isPublishing({ statement: { table, operation } }: Call): boolean {
  return table === 'roots' && (operation === 'create' || operation === 'publish')
}

/**
 * The session of a process that is killed at its statement number `at`, from 0: before the server gets it,
 * or when it was taken and its outcome is not known yet. Every later statement fails too.
 */
export function sessionKilledAt(
  session: Session,
  { at, isTaken }: { readonly at: number; readonly isTaken: boolean },
) {
  let count = 0
  const killed = sessionAround(session, async (_call, run) => {
    const number = count++
    if (number < at) return await run()
    if (number === at && isTaken) await run()
    throw new Error('killed')
  })
  return { session: killed, count: () => count }
}

/** The session of a process that stands still at the first statement of a kind, until it is told to go on. */
export function sessionStoppedAt(session: Session, isThere: (call: Call) => boolean) {
  let onStopped: () => void = () => undefined
  let goOn: () => void = () => undefined
  const stopped = new Promise<void>((resolve) => (onStopped = resolve))
  const goingOn = new Promise<void>((resolve) => (goOn = resolve))
  const still = sessionAround(session, async (call, run) => {
    if (isThere(call)) {
      onStopped()
      await goingOn
    }
    return await run()
  })
  return { session: still, stopped, goOn: () => goOn() }
}
