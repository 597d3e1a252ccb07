import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Event } from '../../src/event/event.ts'
import { openArrivalFollower } from '../../src/query/follow-arrivals.ts'
import { SEQUENCES_PER_PAGE } from '../../src/store/arrivals.ts'
import { anEvent } from '../support/an-event.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { openTestClock, openTestSealer, openTestWriter } from '../support/sealing.ts'

const { stores } = await openTestKeyspace()

/** A project with a writer that is alive, and who follows it; `told` looks once. */
async function openFollowed() {
  const projectId = randomUUID()
  const clock = openTestClock()
  const openWriter = async () => {
    const writer = openTestWriter(stores, projectId)
    await writer.beat()
    await writer.announce()
    return writer
  }
  const follower = openArrivalFollower(stores, projectId, clock)
  const told = async () => {
    const names: string[] = []
    await follower.look((events) => names.push(...events.map(({ eventName }) => eventName)))
    return names
  }
  return { projectId, clock, openWriter, told, writer: await openWriter() }
}

const named = (...names: string[]): Event[] => names.map((eventName) => anEvent({ eventName }))

describe('who follows a writer', () => {
  test('is told what comes after the first look, block by block, once', async () => {
    const { writer, told } = await openFollowed()
    await writer.commit(named('before'))
    expect(await told()).toEqual([])
    await writer.commit(named('a', 'b'))
    await writer.commit(named('c'))
    expect([await told(), await told()]).toEqual([['a', 'b', 'c'], []])
  })

  test('is told a number that is seen late, be it of before the first look', async () => {
    const { writer, told } = await openFollowed()
    const [early, before] = [writer.take(), writer.take()]
    await writer.append(before, named('before'))
    await told()
    const late = writer.take()
    await writer.commit(named('after'))
    expect(await told()).toEqual(['after'])
    await writer.append(late, named('late'))
    await writer.append(early, named('early'))
    expect((await told()).toSorted()).toEqual(['early', 'late'])
    expect(await told()).toEqual([])
  })

  test('gives up a number that does not come, and goes on', async () => {
    const { writer, told, clock } = await openFollowed()
    await told()
    const never = writer.take()
    await writer.commit(named('a'))
    expect(await told()).toEqual(['a'])
    clock.pass(61_000)
    expect(await told()).toEqual([])
    await writer.append(never, named('too late'))
    expect(await told()).toEqual([])
  })

  test('goes past the end of a page while numbers before it are in flight', async () => {
    const { writer, told } = await openFollowed()
    for (let sequence = 0; sequence < SEQUENCES_PER_PAGE - 2; sequence++) writer.take()
    await writer.beat()
    await told()
    const inFlight = [writer.take(), writer.take()]
    await writer.commit(named('next page'))
    expect(await told()).toEqual(['next page'])
    for (const sequence of inFlight) await writer.append(sequence, named(`page's end`))
    expect(await told()).toEqual([`page's end`, `page's end`])
  })

  test('is told all pages of what came since the look before', async () => {
    const { writer, told } = await openFollowed()
    await told()
    const names = Array.from({ length: 3 * SEQUENCES_PER_PAGE + 5 }, (_, index) => `e${index}`)
    for (const name of names) await writer.commit(named(name))
    expect(await told()).toEqual(names)
  })

  test('is told all of a writer that was not there before', async () => {
    const { openWriter, told } = await openFollowed()
    await told()
    const next = await openWriter()
    await next.commit(named('a'))
    expect(await told()).toEqual(['a'])
  })

  test('asks nothing more of a writer that is silent', async () => {
    const { projectId, writer, clock } = await openFollowed()
    clock.pass(61_000)
    const follower = openArrivalFollower(stores, projectId, clock)
    const names: string[] = []
    const look = () => follower.look((events) => names.push(...events.map((one) => one.eventName)))
    await look()
    await writer.commit(named('of a dead one'))
    await look()
    expect(names).toEqual([])
  })

  test('is told what comes though the head does not tell of the project any more', async () => {
    const { projectId, writer, clock, told } = await openFollowed()
    for (const name of ['a', 'b', 'c']) await writer.commit(named(name))
    await writer.beat()
    await openTestSealer(stores, projectId, clock).seal()
    const { root } = await stores.snapshots.root(projectId)
    expect(root!.writers[writer.writer]!.through).toBe(2)
    await stores.writerHeads.write(writer.writer, {
      ...{ beat: 99, beatAtMs: Date.now(), projects: new Map() },
    })
    await told()
    await writer.commit(named('d'))
    expect(await told()).toEqual(['d'])
  })

  test('meets a damaged block once, and is told what comes after it', async () => {
    const { projectId, writer, told } = await openFollowed()
    await told()
    const block = Buffer.from('damaged')
    await stores.arrivals.append({
      ...{ projectId, writer: writer.writer, sequence: writer.take(), block },
    })
    await writer.commit(named('a'))
    await expect(told()).rejects.toMatchObject({ code: 'DATA_DAMAGED' })
    expect(await told()).toEqual(['a'])
  })
})
