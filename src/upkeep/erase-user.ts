import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { bucketOf } from '../event/bucket.ts'
import type { Admission } from '../query/admission.ts'
import { openUserSearch } from '../seal/find-user.ts'
import { openPublish } from '../seal/publish.ts'
import { openRootNow } from '../seal/root-now.ts'
import { encodeDocument } from '../segment/directory.ts'
import { ERASURES, withErasure } from '../segment/erased-set.ts'
import { hashUserId } from '../segment/identity-hash.ts'
import { AS_OF_SKEW_MS, type Root } from '../segment/root.ts'
import type { Project } from '../store/projects.ts'
import type { Stores } from '../store/stores.ts'

/** `anon:` and an id of 256 bytes. */
const USER_ID_BYTES_MAX = 261
/** Others publish every second or two, and an erasure takes a hundredth of one. */
const TRIES_MAX = 32

export type Erasures = ReturnType<typeof openErasures>

/**
 * Erases users from every answer, by publishing them in the erased set of the root. What is stored of them is
 * left to be removed by others.
 */
export function openErasures(dependencies: {
  readonly stores: Stores
  readonly admit: Admission
  readonly clock: Clock
}) {
  const { stores, admit, clock } = dependencies
  const { objects, snapshots } = stores
  const { nowMs } = clock
  const rootNow = openRootNow({ snapshots, nowMs })
  const publish = openPublish({ ...stores, nowMs })

  async function erase(project: Project, { userId, askedBy }: AskedErasure): Promise<number> {
    const { projectId } = project
    const search = openUserSearch(objects, projectId, userId)
    const words = new Uint32Array(2)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const from = await rootNow(project)
      const { root } = from
      const { erasures } = await snapshots.erased(projectId, root)
      const userNumbers = await search(root)
      const erasedAtMs = erasureTimeMs(root, nowMs())
      hashUserId(words, root.hashKey, userId)
      const key = { bucket: bucketOf(userId), high: words[0]!, low: words[1]! }
      const next = withErasure(erasures, { ...key, erasedAtMs, userNumbers, userId, askedBy })
      const object = randomUUID()
      const published = await publish({
        ...{ projectId, from, root: erasedRoot(root, object) },
        added: [object],
        givenUp: root.erased === null ? [] : [root.erased],
        write: () => objects.write({ projectId, object }, [[ERASURES, encodeDocument(next)]], 0),
      })
      if (published !== null) return erasedAtMs
    }
    throw new AppError('OVERLOADED', 'others always publish first: ask again')
  }

  return {
    /**
     * Erases a user, known or not. When it resolves the erasure is durable, and every later question of any
     * process sees it. Returns the moment: what was received by then is gone. Throws INVALID_REQUEST for an id
     * that no user can have, OVERLOADED or STORE_UNAVAILABLE where it is to be asked again.
     */
    async erase(project: Project, asked: AskedErasure): Promise<{ readonly erasedAtMs: number }> {
      if (Buffer.byteLength(asked.userId) > USER_ID_BYTES_MAX)
        throw new AppError('INVALID_REQUEST', `a user id has at most ${USER_ID_BYTES_MAX} bytes`)
      return { erasedAtMs: await admit(() => erase(project, asked)) }
    },
  }
}

function erasedRoot(root: Root, erased: string): Root {
  return { ...root, erased, erasureCount: root.erasureCount + 1 }
}

interface AskedErasure {
  readonly userId: string
  /** The id of the key that asks, or `admin`. */
  readonly askedBy: string
}

/**
 * No earlier than anything that the root leads to was received: its segments do not tell when that was, so
 * all that they have of the user is gone. Where clocks differ this may be ahead of ours, by as much as they may.
 */
function erasureTimeMs({ newestReceivedAtMs }: Root, nowMs: number): number {
  return Math.max(nowMs, Math.min(newestReceivedAtMs, nowMs + AS_OF_SKEW_MS))
}
