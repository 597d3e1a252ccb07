/**
 * Returns what a property of an event holds, when it can be asked about: a string, number or boolean.
 * `path` is a key, or keys of nested objects joined by dots; a key that itself holds dots is found too,
 * the longest first. Null for what is missing, null, an object or an array.
 */
export function propertyAt(properties: unknown, path: string): string | number | boolean | null {
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties))
    return null
  if (Object.hasOwn(properties, path))
    return scalarOf((properties as Record<string, unknown>)[path])
  for (let dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.', dot - 1)) {
    const head = path.slice(0, dot)
    if (!Object.hasOwn(properties, head)) continue
    const value = propertyAt((properties as Record<string, unknown>)[head], path.slice(dot + 1))
    if (value !== null) return value
  }
  return null
}

/** The longest path that a question can name. */
export const PROPERTY_PATH_LENGTH_MAX = 256
/** More dots than levels of nesting that an event may have; each makes a path dearer to look up. */
const PROPERTY_PATH_DOTS_MAX = 32

/**
 * Calls `take` for every path under which `propertyAt` finds a value, once each, in no particular order.
 * Left out are paths that no question can name: too long, or with half a surrogate pair. Returns whether any
 * others are left out, since they have too many dots.
 */
export function forEachProperty(
  properties: Record<string, unknown>,
  take: (path: string, value: string | number | boolean) => void,
): boolean {
  let hasNested = false
  for (const key in properties) {
    const value = properties[key]
    if (typeof value === 'object') hasNested ||= value !== null && !Array.isArray(value)
    else if (isAskable(key)) take(key, value as string | number | boolean)
  }
  if (!hasNested) return false
  let isCut = false
  for (const path of nestedPaths(properties)) {
    // What stands at the top is taken already, or hides what is nested.
    if (Object.hasOwn(properties, path) || !isAskable(path)) continue
    if (path.split('.').length > PROPERTY_PATH_DOTS_MAX) {
      isCut = true
      continue
    }
    const value = propertyAt(properties, path)
    if (value !== null) take(path, value)
  }
  return isCut
}

function isAskable(path: string): boolean {
  return path.length <= PROPERTY_PATH_LENGTH_MAX && path.isWellFormed()
}

function nestedPaths(properties: Record<string, unknown>): Set<string> {
  const paths = new Set<string>()
  const open: { object: Record<string, unknown>; prefix: string }[] = [
    { object: properties, prefix: '' },
  ]
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const [key, value] of Object.entries(next.object)) {
      const path = next.prefix + key
      if (path.length > PROPERTY_PATH_LENGTH_MAX) continue
      if (typeof value !== 'object') paths.add(path)
      else if (value !== null && !Array.isArray(value))
        open.push({ object: value as Record<string, unknown>, prefix: `${path}.` })
    }
  return paths
}

function scalarOf(value: unknown): string | number | boolean | null {
  const isScalar =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isScalar ? value : null
}
