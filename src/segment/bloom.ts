const BITS_PER_ID = 16
const PROBES = 7
/** In fewer bits the probes of a few ids fall together too often. */
const WORDS_MIN = 4

/**
 * Returns a Bloom filter of ids, 16 bits each: of other ids one in 1,500 or so is taken for a member.
 * `ids` holds two words an id. Double hashing after Kirsch and Mitzenmacher 2006.
 */
export function buildBloom(ids: Uint32Array): Uint32Array {
  const idCount = ids.length / 2
  const bits = new Uint32Array(Math.max(WORDS_MIN, Math.ceil((idCount * BITS_PER_ID) / 32)))
  const size = bits.length * 32
  for (let id = 0; id < idCount; id++) {
    let bit = ids[2 * id]! % size
    const step = (ids[2 * id + 1]! % (size - 1)) + 1
    for (let probe = 0; probe < PROBES; probe++) {
      bits[bit >>> 5]! |= 1 << (bit & 31)
      bit += step
      if (bit >= size) bit -= size
    }
  }
  return bits
}

/** Tells whether an id may be a member; false is certain. */
export function mayContain(bits: Uint32Array, high: number, low: number): boolean {
  const size = bits.length * 32
  let bit = high % size
  const step = (low % (size - 1)) + 1
  for (let probe = 0; probe < PROBES; probe++) {
    if ((bits[bit >>> 5]! & (1 << (bit & 31))) === 0) return false
    bit += step
    if (bit >= size) bit -= size
  }
  return true
}
