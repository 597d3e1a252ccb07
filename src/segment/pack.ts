import type { ColumnPlace, Section } from './directory.ts'
import type { EncodedSection } from './section.ts'

const ALIGNMENT = 8

/** Puts the columns of several sections one after the other, each at a multiple of 8 bytes. */
export function packSections(encoded: readonly EncodedSection[]): {
  sections: Section[]
  pack: Buffer
} {
  const parts: Uint8Array[] = []
  let end = 0
  const sections = encoded.map(({ section, columns }): Section => {
    const places: Record<string, ColumnPlace> = {}
    for (const [name, bytes] of columns) {
      places[name] = { offset: end, bytes: bytes.length }
      const padding = -bytes.length & (ALIGNMENT - 1)
      parts.push(bytes, new Uint8Array(padding))
      end += bytes.length + padding
    }
    return { ...section, columns: places }
  })
  return { sections, pack: Buffer.concat(parts) }
}

/** Returns a section whose columns are stored each by itself. */
export function sectionAlone({ section, columns }: EncodedSection): Section {
  const places = [...columns].map(([name, { length: bytes }]) => [name, { offset: 0, bytes }])
  return { ...section, columns: Object.fromEntries(places) as Section['columns'] }
}
