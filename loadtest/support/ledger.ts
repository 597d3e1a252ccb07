/**
 * Accepted = stored, as thresholds. k6 hides what virtual users counted from `teardown`, so the
 * subtraction is left to counters: each acknowledgement adds to `events_lost`, and teardown adds what the
 * service then answers, negated. A sum over 0 is an event that was acknowledged and is not there. The
 * same the other way round: `events_invented` is over 0 where more is stored than was ever sent. What got
 * no answer may be stored or not, so neither sum need be 0; and a teardown that does not come this far
 * leaves `events_lost` over 0, which fails the run too.
 */
import { check } from 'k6'
import { Counter } from 'k6/metrics'
import { call, jsonOf } from './call.ts'
import { stepNames } from './journeys.ts'
import type { Project } from './project.ts'
import { askFunnel } from './questions.ts'

/** Three ways to read what is stored: columns, raw rows, and the counts of the directories. */
const SOURCES = ['segments', 'events', 'counts'] as const
type Source = (typeof SOURCES)[number]

const TIMEOUT = '10m'

const acknowledged = new Counter('events_acknowledged')
const lost = new Counter('events_lost')
const invented = new Counter('events_invented')

/** Of every script: nothing lost, nothing invented, and something done at all. */
export const ledgerThresholds = {
  events_acknowledged: ['count>0'],
  ...Object.fromEntries(
    SOURCES.flatMap((source) => [
      [`events_lost{source:${source}}`, ['count<=0']],
      [`events_invented{source:${source}}`, ['count<=0']],
    ]),
  ),
}

/** To be called before events are sent for the first time: without an answer they may be stored as well. */
export function noteSent(count: number): void {
  for (const source of SOURCES) invented.add(-count, { source })
}

/** To be called once for what was acknowledged. */
export function noteAcknowledged(count: number): void {
  acknowledged.add(count)
  for (const source of SOURCES) lost.add(count, { source })
}

/** For `teardown`: asks the service what it has of this run, each way, and subtracts it. */
export async function settle(project: Project): Promise<void> {
  for (const event of stepNames(project))
    for (const source of SOURCES) {
      const count = await storedCount(project, event, source)
      check(count, { 'what is stored was told': (told) => told !== null })
      lost.add(-(count ?? 0), { source })
      invented.add(count ?? 0, { source })
    }
}

async function storedCount(
  project: Project,
  event: string,
  source: Source,
): Promise<number | null> {
  if (source === 'counts') return await eventCount(project, event)
  const steps = [{ event }]
  const query = { steps, source, freshness: 'now' }
  const answer = await askFunnel(project, 'settle', query, TIMEOUT)
  return answer?.steps[0]?.users ?? null
}

async function eventCount({ readKey, range }: Project, event: string): Promise<number | null> {
  const { from, to } = range
  const parameters = { event, interval: 'hour', freshness: 'now', from, to }
  const query = Object.entries(parameters).map((pair) => pair.map(encodeURIComponent).join('='))
  const sent = { key: readKey, name: 'settle', timeout: TIMEOUT }
  const response = await call('GET', `/v1/counts?${query.join('&')}`, sent)
  const answer = jsonOf<{ counts: { count: number }[] }>(response)
  return answer === null ? null : answer.counts.reduce((sum, { count }) => sum + count, 0)
}
