import { expect, test } from 'vitest'
import { DIRECTORY, PACK, USERS } from '../../src/segment/directory.ts'
import { PAGE } from '../../src/store/snapshots.ts'
import { openStores } from '../../src/store/stores.ts'
import { openTestKeyspace } from '../support/keyspace.ts'
import { asPublished, openSealedProject, publishedEvents, someEvents } from '../support/sealing.ts'

// One stored chunk is damaged, or lost. Whoever needs it says which, and publishes nothing over it.

const { stores, session } = await openTestKeyspace()

type SealedProject = Awaited<ReturnType<typeof openSealedProject>>

const statement = (cql: string) => ({ table: 'objects', operation: 'damage', cql })

/** Turns one bit of a chunk, or deletes it. */
async function damage(
  projectId: string,
  { object, column }: { readonly object: string; readonly column: string },
  isLost: boolean,
): Promise<void> {
  const key = [projectId, object, column, 0]
  const where = 'WHERE project = ? AND object = ? AND column = ? AND chunk = ?'
  if (isLost) {
    await session.execute(statement(`DELETE FROM objects ${where}`), key)
    return
  }
  const [row] = await session.execute(statement(`SELECT data FROM objects ${where}`), key)
  const data = Buffer.from(row!['data'] as Buffer)
  data[Math.floor(data.length / 2)]! ^= 1
  await session.execute(statement(`UPDATE objects SET data = ? ${where}`), [data, ...key])
}

/** A project with a page, a list of users, and segments of level 0. */
async function aProject(): Promise<SealedProject> {
  const project = await openSealedProject(stores)
  for (let pass = 0; pass < 18; pass++) {
    await project.writer.commit(someEvents(200, { userId: `of ${pass}` }))
    await project.sealer.seal()
    if (pass === 15) await project.sealer.merge(Infinity)
  }
  return project
}

async function placeOf({ root, projectId }: SealedProject, what: string) {
  const { fresh, pages, userLists } = await root()
  const [page] = Object.values(pages)
  const [merged] = await stores.snapshots.page(projectId, page!)
  switch (what) {
    case 'page':
      return { object: page!, column: PAGE }
    case 'list of users':
      return { object: userLists[0]!.object, column: USERS }
    case 'users of a segment':
      return { object: fresh[0]!.segment, column: USERS }
    case 'directory':
      return { object: fresh[0]!.segment, column: DIRECTORY }
    case 'pack':
      return { object: fresh[0]!.segment, column: PACK }
    default:
      return { object: merged!.segment, column: PACK }
  }
}

const kinds = ['page', 'list of users', 'users of a segment', 'directory', 'pack', 'merged pack']
const cases = kinds.flatMap((what) => [
  [what, 'damaged', false] as const,
  [what, 'lost', true] as const,
])

test.each(cases)('a %s that is %s is told, and not published over', async (what, _how, isLost) => {
  const project = await aProject()
  const { projectId, writer } = project
  const place = await placeOf(project, what)
  await damage(projectId, place, isLost)
  const { version } = await stores.snapshots.root(projectId)
  const told = {
    code: 'DATA_DAMAGED',
    message: expect.stringContaining(`project '${projectId}', object ${place.object}`) as string,
  }
  // Copies, so that the filters of merged segments are asked; and a user that is known.
  await writer.commit(someEvents(300, { userId: 'of 3' }))
  await writer.beat()
  await expect(project.sealerOn().seal()).rejects.toMatchObject(told)
  expect((await stores.snapshots.root(projectId)).version).toBe(version)
})

test('a block that is damaged is told, and not published over', async () => {
  const project = await openSealedProject(stores)
  const { projectId, writer, sealer } = project
  const events = someEvents(20)
  await writer.commit(events)
  await sealer.seal()
  const { version } = await stores.snapshots.root(projectId)
  const sequence = writer.take()
  const block = Buffer.from('not a block, but long enough')
  await stores.arrivals.append({ projectId, writer: writer.writer, sequence, block })
  await writer.beat()
  for (const by of [sealer, project.sealerOn()])
    await expect(by.seal()).rejects.toMatchObject({
      code: 'DATA_DAMAGED',
      message: expect.stringContaining(`writer ${writer.writer}, page 0), sequence 1`) as string,
    })
  expect((await stores.snapshots.root(projectId)).version).toBe(version)
  expect(asPublished(await publishedEvents(openStores(session), projectId))).toEqual(
    asPublished(events),
  )
})
