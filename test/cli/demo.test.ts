import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { fillDemo, findDemo, type DemoProject } from '../../src/cli/demo.ts'
import { loadKeyRing, saveKeyRing } from '../../src/cli/key-ring.ts'
import { parseConfig } from '../../src/config.ts'
import { visitorEvents, type DemoShop } from '../../src/demo/visitor-events.ts'
import { groupBy } from '../../src/group-by.ts'
import { temporaryFolder } from '../support/data-dir.ts'
import { send } from '../support/http-client.ts'
import { ADMIN_KEY, openTestService } from '../support/service.ts'

/** So many that it takes several rounds of requests. */
const VISITOR_COUNT = 500

const service = await openTestService()
const running = { url: service.url, adminKey: ADMIN_KEY }
const folder = await temporaryFolder()
afterAll(folder.remove)
let config = parseConfig({ DATA_DIR: folder.path })
let count = 0
beforeEach(async () => {
  config = parseConfig({ DATA_DIR: join(folder.path, String(++count)) })
  const { projects } = (await service.admin('/v1/projects')).json<{ projects: { id: string }[] }>()
  for (const { id } of projects) await service.admin(`/v1/projects/${id}`, { method: 'DELETE' })
})

const find = () => findDemo(config, running, VISITOR_COUNT)
const fill = (demo: DemoProject, signal = new AbortController().signal) =>
  fillDemo(config, running, demo, { signal, note: () => {} })

interface DemoState extends DemoShop {
  readonly sentCount: number
}

async function state(): Promise<DemoState> {
  return JSON.parse(await readFile(join(config.DATA_DIR, 'demo.json'), 'utf8')) as DemoState
}

/** By event name, the distinct ids of the whole shop. */
function idCounts(shop: DemoShop): Record<string, number> {
  const sendings = Array.from({ length: VISITOR_COUNT }, (_, one) =>
    visitorEvents(shop, one),
  ).flat()
  const ids = new Map(sendings.map(({ event }) => [event.id, event.event]))
  const names = groupBy(ids.values(), (name) => name)
  return Object.fromEntries([...names].map(([name, all]) => [name, all.length]))
}

async function countOf({ readKey }: DemoProject, event: string): Promise<number> {
  const query = new URLSearchParams({ event, freshness: 'now', from: '2020-01-01' })
  const answer = await send(`${service.url}/v1/counts?${query}`, { key: readKey })
  const { counts } = answer.json<{ counts: { count: number }[] }>()
  return counts.reduce((sum, one) => sum + one.count, 0)
}

describe('the demo project', () => {
  test('goes on where filling was broken off, and doubles nothing', async () => {
    const demo = (await find())!
    expect(demo).toMatchObject({ name: 'demo', isFilled: false })
    const stop = new AbortController()
    const broken = fill(demo, stop.signal)
    await expect
      .poll(async () => (await state()).sentCount, { interval: 5, timeout: 30_000 })
      .toBeGreaterThan(0)
    stop.abort()
    await expect(broken).rejects.toThrow()
    const { sentCount, ...shop } = await state()
    expect(await find()).toEqual(demo)
    const total = await fill(demo)
    expect(total).toBeGreaterThan(sentCount)
    expect(await state()).toMatchObject({ ...shop, sentCount: total, isFilled: true })
    expect(await find()).toEqual({ ...demo, isFilled: true })

    for (const [event, expected] of Object.entries(idCounts(shop)))
      expect([event, await countOf(demo, event)]).toEqual([event, expected])
  })

  test('is made beside the first project, and its keys are kept', async () => {
    const { id } = await service.createProject({ name: 'mine' })
    await saveKeyRing(config.DATA_DIR, { firstProject: id, projects: { [id]: { name: 'mine' } } })
    const demo = (await find())!
    const { projects } = await loadKeyRing(config.DATA_DIR)
    const { writeKey, readKey } = demo
    expect(projects).toEqual({
      ...{ [id]: { name: 'mine' } },
      [demo.id]: { name: 'demo', writeKey, readKey },
    })
  })

  test('is not made beside projects of others', async () => {
    await service.createProject({ name: 'other' })
    expect(await find()).toBe(null)
  })

  test('is not made again after it was destroyed', async () => {
    const { id } = (await find())!
    await service.admin(`/v1/projects/${id}`, { method: 'DELETE' })
    expect(await find()).toBe(null)
  })
})
