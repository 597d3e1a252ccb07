import { randomUUID } from 'node:crypto'
import { DAY_MS } from '../event/day.ts'
import { DIRECTORY, encodeDocument, PACK, USERS, type SegmentRef } from '../segment/directory.ts'
import { packSections, sectionAlone } from '../segment/pack.ts'
import { encodeSection, type SectionRows } from '../segment/section.ts'
import { encodeUsers, USERS_PER_CHUNK, type ListedUser } from '../segment/user-list.ts'
import type { ChunkWrite, Objects } from '../store/objects.ts'

/** An object that is made up and not written yet; `ref` is what leads to it. */
export interface NewSegment {
  readonly ref: SegmentRef
  readonly write: (objects: Objects, projectId: string, nowMs: number) => Promise<void>
}

/** What sealing needs to know of a project. */
export interface SealProject {
  readonly projectId: string
  readonly retentionDays: number
  readonly createdAtMs: number
}

/** How a segment is written. */
export interface SegmentPlace {
  readonly level: number
  readonly readGroupCount: number
  readonly retentionDays: number
}

/** Makes a segment of several sections in one pack, with the users first seen in it. */
export function packedSegment(
  parts: readonly SectionRows[],
  { retentionDays, ...place }: SegmentPlace,
  users: readonly ListedUser[] = [],
): NewSegment {
  const encoded = parts.map((rows) => encodeSection(rows, place.readGroupCount))
  const { sections, pack } = packSections(encoded)
  const lastDay = parts.reduce((last, { day }) => Math.max(last, day), -Infinity)
  const ref: SegmentRef = {
    segment: randomUUID(),
    ...place,
    firstDay: parts.reduce((first, { day }) => Math.min(first, day), Infinity),
    ...{ lastDay, expiresDay: lastDay + 1 + retentionDays },
    rowCount: parts.reduce((sum, { rowCount }) => sum + rowCount, 0),
    packBytes: pack.length,
    userCount: users.length,
    section: null,
  }
  return {
    ref,
    async write(objects, projectId, nowMs) {
      const id = { projectId, object: ref.segment }
      const columns = [[DIRECTORY, encodeDocument(sections)] as const, [PACK, pack] as const]
      // Users outlive the events that they were first seen in.
      await objects.writeChunks(id, userChunks(users), 0)
      await objects.write(id, columns, ttlOf(ref, nowMs))
    },
  }
}

/** Makes a segment of one section, each column by itself. */
export function segmentAlone(
  rows: SectionRows,
  { retentionDays, ...place }: SegmentPlace,
): NewSegment {
  const encoded = encodeSection(rows, place.readGroupCount)
  const { day, rowCount } = rows
  const ref: SegmentRef = {
    segment: randomUUID(),
    ...place,
    ...{ firstDay: day, lastDay: day, expiresDay: day + 1 + retentionDays },
    ...{ rowCount, packBytes: 0, userCount: 0 },
    section: sectionAlone(encoded),
  }
  return {
    ref,
    async write(objects, projectId, nowMs) {
      const id = { projectId, object: ref.segment }
      await objects.write(id, encoded.columns, ttlOf(ref, nowMs))
    },
  }
}

/** Cuts users, in ascending order of their numbers, into chunks that are each read by themselves. */
export function userChunks(users: readonly ListedUser[]): ChunkWrite[] {
  const chunks: ChunkWrite[] = []
  for (let start = 0; start < users.length; start += USERS_PER_CHUNK)
    chunks.push({
      column: USERS,
      chunk: chunks.length,
      bytes: encodeUsers(users.slice(start, start + USERS_PER_CHUNK)),
    })
  return chunks
}

// A day longer than it is led to: clocks differ, and who reads it may have begun before.
function ttlOf({ expiresDay }: SegmentRef, nowMs: number): number {
  return Math.max(1, Math.ceil(((expiresDay + 1) * DAY_MS - nowMs) / 1_000))
}
