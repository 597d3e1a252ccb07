import { systemClock as clock } from '../clock.ts'
import type { Config } from '../config.ts'
import type { DemoProject } from './demo.ts'
import type { RunningService } from './run-service.ts'

export interface ShownProject {
  readonly id: string
  readonly writeKey: string
  readonly readKey: string
}

/** What `start` says to people once it listens: where, the keys, and what to try at once. */
export function greeting(
  { ADMIN_KEY, DATA_DIR }: Config,
  { url, adminKey, isAdminKeyNew }: RunningService,
  { first, demo }: { readonly first: ShownProject | null; readonly demo: DemoProject | null },
): string {
  const lines = ['', `Thousandfold listens on ${url}  (the API: ${url}/docs)`, '']
  if (isAdminKeyNew) lines.push(`  admin key (shown once)  ${adminKey}`)
  else if (ADMIN_KEY === undefined) lines.push(`  admin key               in ${DATA_DIR}/admin-key`)
  if (first !== null) lines.push(...projectLines('first project', first))
  if (demo !== null) lines.push(...projectLines('demo project', demo), '', ...demoLines(url, demo))
  if (first !== null) lines.push('', ...firstLines(url, first))
  return [...lines, ''].join('\n')
}

function projectLines(title: string, { id, writeKey, readKey }: ShownProject): string[] {
  return [
    ...['', `  ${title.padEnd(24)}${id}`],
    ...[`  write key               ${writeKey}`, `  read key                ${readKey}`],
  ]
}

/** What to ask the demo project at once. */
function demoLines(url: string, { name, readKey, isFilled }: DemoProject): string[] {
  const steps = ['product_view', 'add_to_cart', 'begin_checkout', 'purchase']
  const funnel = { steps: steps.map((event) => ({ event })), breakdown: { property: 'browser' } }
  const filling = isFilled ? '' : ', which takes some seconds to be filled'
  return [
    `Ask the demo shop${filling}: where do its visitors leave?`,
    ...['', `  npx thousandfold funnel '${steps.join(' > ')}' --project ${name} --by device`],
    ...['', `  ${curl(url, '/v1/funnels', readKey, { ...funnel, freshness: 'now' })}`],
  ]
}

function firstLines(url: string, { writeKey, readKey }: ShownProject): string[] {
  const time = new Date(clock.nowMs()).toISOString()
  const events = [
    { id: 'e-1', event: 'page_view', userId: 4711, time, properties: { path: '/pricing' } },
    { id: 'e-2', event: 'sign_up', userId: 4711, time },
  ]
  const steps = [{ event: 'page_view' }, { event: 'sign_up' }]
  return [
    ...['Send two events of your own:', '', `  ${curl(url, '/v1/events', writeKey, events)}`, ''],
    'Ask who went from the one to the other:',
    ...['', `  ${curl(url, '/v1/funnels', readKey, { steps, freshness: 'now' })}`],
  ]
}

function curl(url: string, path: string, key: string, body: unknown): string {
  return `curl -X POST ${url}${path} -H 'Authorization: Bearer ${key}' -d '${JSON.stringify(body)}'`
}
