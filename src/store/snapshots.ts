import { decodeDocument, DIRECTORY, type Section, type SegmentRef } from '../segment/directory.ts'
import {
  ERASURES,
  NOBODY_ERASED,
  openErasedSet,
  type ErasedSet,
  type Erasure,
} from '../segment/erased-set.ts'
import { decodeRoot, type Page, type Root } from '../segment/root.ts'
import { damaged, type Objects } from './objects.ts'
import type { Roots, StoredRoot } from './roots.ts'

const DOCUMENTS_MAX = 4_096

export interface PublishedRoot {
  /** 0 where nothing is published. */
  readonly version: number
  readonly root: Root | null
}

/** A root that is there, or that begins a project. */
export type FoundRoot = PublishedRoot & { readonly root: Root }

export type Snapshots = ReturnType<typeof openSnapshots>

/**
 * What is published: a project's root, and the pages and directories that it leads to. These never change,
 * so the last few thousand are kept by their ids.
 */
export function openSnapshots({
  roots,
  objects,
}: {
  readonly roots: Roots
  readonly objects: Objects
}) {
  const documents = new Map<string, Promise<unknown>>()

  async function load<T>(projectId: string, object: string, column: string): Promise<T> {
    const id = { projectId, object }
    const bytes = await objects.readColumn(id, column)
    try {
      return decodeDocument<T>(bytes)
    } catch (error) {
      throw damaged(id, column, error)
    }
  }

  function document<T>(projectId: string, object: string, column: string): Promise<T> {
    const known = documents.get(object) as Promise<T> | undefined
    if (known !== undefined) {
      documents.delete(object)
      documents.set(object, known)
      return known
    }
    const loading = load<T>(projectId, object, column)
    documents.set(object, loading)
    loading.catch(() => documents.delete(object))
    const [oldest] = documents.keys()
    if (documents.size > DOCUMENTS_MAX) documents.delete(oldest!)
    return loading
  }

  function published(projectId: string, { version, bytes }: StoredRoot): PublishedRoot {
    if (bytes === null) return { version, root: null }
    try {
      return { version, root: decodeRoot(bytes) }
    } catch (error) {
      throw damaged({ projectId, object: 'root' }, `version ${version}`, error)
    }
  }

  return {
    async root(projectId: string): Promise<PublishedRoot> {
      return published(projectId, await roots.read(projectId))
    },

    /** The root after every publication on its way is in, or never will be. */
    async settledRoot(projectId: string): Promise<PublishedRoot> {
      return published(projectId, await roots.readSettled(projectId))
    },

    page: (projectId: string, object: string) => document<Page>(projectId, object, PAGE),

    /** Returns the users who are erased as of a root. */
    async erased(projectId: string, root: Root | null): Promise<ErasedSet> {
      if (root === null || root.erased === null) return NOBODY_ERASED
      const erasures = await document<Erasure[]>(projectId, root.erased, ERASURES)
      return openErasedSet(erasures, root.hashKey)
    },

    /** Returns the sections of a segment. */
    async sections(projectId: string, ref: SegmentRef): Promise<readonly Section[]> {
      if (ref.section !== null) return [ref.section]
      return await document<Section[]>(projectId, ref.segment, DIRECTORY)
    },
  }
}

/** The column of a page's document. */
export const PAGE = 'page'
