import { call, jsonOf } from './call.ts'
import { stepNames } from './journeys.ts'
import type { Project } from './project.ts'

/** What scripts look at in an answer. */
export interface FunnelAnswer {
  readonly steps: readonly { readonly users: number }[]
  readonly breakdown?: readonly { readonly value: string; readonly steps: FunnelAnswer['steps'] }[]
  readonly asOf: string
}

/** Asks a funnel over the range of the run; null where it was not answered. `name` tags the request. */
export async function askFunnel(
  { readKey, range }: Project,
  name: string,
  query: object,
  timeout = '60s',
): Promise<FunnelAnswer | null> {
  const body = { ...range, ...query }
  return jsonOf<FunnelAnswer>(
    await call('POST', '/v1/funnels', { key: readKey, name, body, timeout }),
  )
}

/**
 * The funnel of all steps of a journey. Equal questions share one execution, so each is made another by
 * its window: a day and `serial` milliseconds.
 */
export function journeyFunnel(project: Project, serial: number) {
  const steps = stepNames(project).map((event) => ({ event }))
  return { steps, windowMs: 86_400_000 + serial }
}

/** How many users came to each step; empty without an answer. */
export function usersOf(answer: FunnelAnswer | null): number[] {
  return (answer?.steps ?? []).map(({ users }) => users)
}
