import { propertiesOf, type FunnelSpec } from '../../src/analysis/funnel-spec.ts'
import { declareFunnel } from '../../src/analysis/funnel.ts'
import { declareFunnelUsers, type UsersAsked } from '../../src/analysis/funnel-users.ts'
import type { FunnelCounts } from '../../src/analysis/tally.ts'
import { daysOf, type TestEvent } from './columns.ts'
import { usersOf } from './slow-chains.ts'

/** Which properties are read of the events of a name: no more than a question asks for. */
export const readBy = (spec: FunnelSpec) => (eventName: string) => propertiesOf(spec, eventName)

/** Counts a funnel with the code under test: one fold group, day by day. */
export function foldFunnel(spec: FunnelSpec, events: readonly TestEvent[]): FunnelCounts {
  const users = usersOf(events)
  const group = declareFunnel(spec).openGroup(users.length)
  for (const day of daysOf(events, readBy(spec), users)) group.fold(day)
  return group.close()
}

/** Lists users with the code under test: one fold group, day by day. */
export function foldFunnelUsers(asked: UsersAsked, events: readonly TestEvent[]) {
  const users = usersOf(events)
  const group = declareFunnelUsers(asked).openGroup(users.length)
  for (const day of daysOf(events, readBy(asked.spec), users)) group.fold(day)
  return group
    .close(null, Infinity)
    .map(({ user, enteredMs, reachedMs }) => ({ user: users[user]!, enteredMs, reachedMs }))
}

/** What was counted, as `slowFunnel` tells it: times one by one, ascending. */
export function told({ users, times, breakdown, trend }: FunnelCounts) {
  return {
    users,
    breakdown: breakdown && new Map([...breakdown].map(([text, tally]) => [text, tally.users])),
    trend: trend && trend.map((tally) => tally.users),
    times:
      times &&
      times.map(({ exact }) => exact!.flatMap((part) => [...part]).toSorted((a, b) => a - b)),
  }
}
