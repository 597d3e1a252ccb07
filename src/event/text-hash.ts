/**
 * Returns a hash of a text, 32 bits that are well mixed: FNV-1a over UTF-16 units, then the last steps of MurmurHash3
 * (Appleby), so that any bits of it can be taken. Nothing that is stored depends on it.
 */
export function textHash(text: string): number {
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
