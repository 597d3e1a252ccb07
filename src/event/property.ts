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

function scalarOf(value: unknown): string | number | boolean | null {
  const isScalar =
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  return isScalar ? value : null
}
