import { CHUNK_BYTES_MAX } from '../segment/chunk.ts'
import { dayOf } from '../event/day.ts'
import { PACK, USERS, type Section, type SegmentRef } from '../segment/directory.ts'
import { decodeSection, type SectionRows } from '../segment/section.ts'
import { decodeUsers, findListed, type ListedUser } from '../segment/user-list.ts'
import { chunksOf, damaged, type ObjectId, type Objects } from '../store/objects.ts'
import type { Snapshots } from '../store/snapshots.ts'

/** Reads a column of a section, or a range of its bytes, from wherever the segment keeps it. */
export async function readSectionColumn(
  objects: Objects,
  projectId: string,
  ref: SegmentRef,
  section: Section,
  name: string,
  range?: { readonly offset: number; readonly bytes: number },
): Promise<Buffer> {
  const id = { projectId, object: ref.segment }
  const place = section.columns[name]
  if (place === undefined) throw damaged(id, `${name} of ${section.eventName}`)
  const offset = place.offset + (range?.offset ?? 0)
  const bytes = range?.bytes ?? place.bytes
  if (bytes === 0) return Buffer.alloc(0)
  const column = ref.section === null ? PACK : name
  const { first, last } = chunksOf({ offset, bytes })
  const chunks: Buffer[] = []
  for await (const page of objects.readChunks(id, column, { first, last }))
    for (const chunk of page) {
      if (chunk.chunk !== first + chunks.length)
        throw damaged(id, `${column} ${first + chunks.length}`)
      chunks.push(chunk.bytes)
    }
  const start = offset - first * CHUNK_BYTES_MAX
  const read = Buffer.concat(chunks).subarray(start, start + bytes)
  if (read.length !== bytes) throw damaged(id, `${column} ${last}`)
  return read
}

/** Reads a whole segment, section by section. */
export async function readSegment(
  { objects, snapshots }: { readonly objects: Objects; readonly snapshots: Snapshots },
  projectId: string,
  ref: SegmentRef,
): Promise<SectionRows[]> {
  const id = { projectId, object: ref.segment }
  const sections = await snapshots.sections(projectId, ref)
  const columns = new Map<string, Buffer>()
  const names =
    ref.section === null
      ? ref.packBytes === 0
        ? []
        : [PACK]
      : Object.entries(ref.section.columns).flatMap(([name, { bytes }]) =>
          bytes > 0 ? [name] : [],
        )
  const chunks = new Map<string, Buffer[]>()
  for await (const page of objects.read(id, names))
    for (const { column, chunk, bytes } of page) {
      const parts = chunks.get(column) ?? []
      if (parts.length !== chunk) throw damaged(id, `${column} ${parts.length}`)
      parts.push(bytes)
      chunks.set(column, parts)
    }
  for (const [name, parts] of chunks) columns.set(name, Buffer.concat(parts))
  return sections.map((section) => {
    const columnOf = (name: string) => {
      const place = section.columns[name]
      const whole = columns.get(ref.section === null ? PACK : name)
      if (place === undefined || (whole === undefined && place.bytes > 0)) throw damaged(id, name)
      return (whole ?? Buffer.alloc(0)).subarray(place.offset, place.offset + place.bytes)
    }
    try {
      return decodeSection(section, ref.readGroupCount, columnOf)
    } catch (error) {
      throw damaged(id, `${section.eventName} of day ${section.day}`, error)
    }
  })
}

/** Yields the users that an object lists, chunk by chunk. Throws DATA_DAMAGED unless it has them all. */
export async function* usersOf(
  objects: Objects,
  id: ObjectId,
  userCount: number,
): AsyncGenerator<ListedUser[]> {
  let count = 0
  for await (const page of objects.read(id, [USERS]))
    for (const { chunk, bytes } of page) {
      const users = decodedUsers(id, chunk, () => decodeUsers(bytes))
      count += users.length
      yield users
    }
  if (count !== userCount) throw damaged(id, `${USERS}, ${count} of ${userCount}`)
}

/** Returns the numbers that an object lists of one user. Throws DATA_DAMAGED as `usersOf` does. */
export async function numbersOf(
  objects: Objects,
  id: ObjectId,
  userCount: number,
  userId: string,
): Promise<number[]> {
  const numbers: number[] = []
  let count = 0
  for await (const page of objects.read(id, [USERS]))
    for (const { chunk, bytes } of page) {
      const found = decodedUsers(id, chunk, () => findListed(bytes, userId))
      count += found.userCount
      numbers.push(...found.userNumbers)
    }
  if (count !== userCount) throw damaged(id, `${USERS}, ${count} of ${userCount}`)
  return numbers
}

function decodedUsers<T>(id: ObjectId, chunk: number, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw damaged(id, `${USERS} ${chunk}`, error)
  }
}

/** Whether the events of a segment have ended, and its bytes are about to. */
export function isExpired({ expiresDay }: SegmentRef, nowMs: number): boolean {
  return dayOf(nowMs) >= expiresDay
}
