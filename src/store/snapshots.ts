import { LRUCache } from 'lru-cache'
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
 * so those asked for last are kept by their ids.
 */
export function openSnapshots({
  roots,
  objects,
  documentBytesMax,
}: {
  readonly roots: Roots
  readonly objects: Objects
  /** Of what is kept, as it is stored: in memory it takes about 30 times as much. */
  readonly documentBytesMax: number
}) {
  const documents = new LRUCache<string, object>({ maxSize: documentBytesMax })
  const loading = new Map<string, Promise<object>>()

  async function load(projectId: string, object: string, column: string): Promise<object> {
    const id = { projectId, object }
    const bytes = await objects.readColumn(id, column)
    try {
      const document = decodeDocument<object>(bytes)
      documents.set(object, document, { size: bytes.length })
      return document
    } catch (error) {
      throw damaged(id, column, error)
    }
  }

  async function document<T>(projectId: string, object: string, column: string): Promise<T> {
    const known = documents.get(object)
    if (known !== undefined) return known as T
    let found = loading.get(object)
    if (found === undefined) {
      found = load(projectId, object, column).finally(() => loading.delete(object))
      loading.set(object, found)
    }
    return (await found) as T
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
