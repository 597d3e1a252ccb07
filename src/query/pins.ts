import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { AppError } from '../error.ts'
import { decodeDocument, encodeDocument } from '../segment/directory.ts'
import { decodeRoot, encodeRoot, type Root } from '../segment/root.ts'
import { damaged, type Objects } from '../store/objects.ts'

/**
 * How long pages may be asked for. What a root leads to is there for an hour after it is given up (seal/sweep.ts),
 * so a page that is begun at the last moment has a quarter of an hour to be read.
 */
export const PIN_MS = 2_700_000
const PIN = 'pin'

/** What all pages of a list have in common. */
export interface Pin {
  /** Tells the question from others. */
  readonly question: string
  /** When the first page was asked for; all pages take it for now. */
  readonly nowMs: number
  readonly asOfMs: number
  /** What is published; null where nothing is, or rows are asked. */
  readonly root: Root | null
  /** The values that the breakdown shows by name, where it matters. */
  readonly shownValues: readonly string[] | null
}

export type Pins = ReturnType<typeof openPins>

/** Keeps what a list is about while it is paged: an object that nothing leads to, gone by its TTL. */
export function openPins({ objects, clock }: { readonly objects: Objects; readonly clock: Clock }) {
  return {
    /** Returns the id under which the pin is found, until 45 minutes after its `nowMs`. */
    async write(projectId: string, { root, ...rest }: Pin): Promise<string> {
      const object = randomUUID()
      const ttlS = Math.max(1, Math.ceil((rest.nowMs + PIN_MS - clock.nowMs()) / 1_000))
      const document = { ...rest, root: root && encodeRoot(root).toString('base64') }
      await objects.write({ projectId, object }, [[PIN, encodeDocument(document)]], ttlS)
      return object
    },

    /** Throws CURSOR_EXPIRED when it is gone, or never was. */
    async read(projectId: string, object: string): Promise<Pin> {
      const id = { projectId, object }
      const chunks: Buffer[] = []
      for await (const page of objects.read(id, [PIN]))
        chunks.push(...page.map(({ bytes }) => bytes))
      if (chunks.length === 0) throw expired()
      const pin = decoded(id, Buffer.concat(chunks))
      if (clock.nowMs() > pin.nowMs + PIN_MS) throw expired()
      return pin
    },
  }

  function decoded(id: { projectId: string; object: string }, bytes: Buffer): Pin {
    try {
      const { root, ...rest } = decodeDocument<Omit<Pin, 'root'> & { root: string | null }>(bytes)
      return { ...rest, root: root === null ? null : decodeRoot(Buffer.from(root, 'base64')) }
    } catch (error) {
      throw damaged(id, PIN, error)
    }
  }
}

function expired(): AppError {
  return new AppError(
    'CURSOR_EXPIRED',
    'this list is too old to go on: ask for its first page again',
  )
}
