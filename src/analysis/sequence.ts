import { openBestSteps } from './best-steps.ts'
import type { FunnelSpec } from './funnel-spec.ts'
import { START, type Moments, type Moves } from './moments.ts'
import { below, bitOf, hasMoreSteps, highestStep, lowestStep } from './step-bits.ts'

/** What makes a chain whose steps are in order. */
export interface SequenceShape {
  readonly stepCount: number
  readonly windowMs: number
  /** A chain's first event is before. */
  readonly entryEndMs: number
  readonly isStrict: boolean
  /** The steps that a chain may leave out. */
  readonly optional: number
  readonly exclusions: readonly {
    /** The steps that a chain has while it must not meet the event, and the one that ends it. */
    readonly between: number
    readonly before: number
  }[]
}

/** A chain, by where it begins, which steps it has and up to which moment it is looked at. */
export interface FoundChain {
  /** The moment of its first event. */
  readonly entry: number
  readonly last: number
  /** Bit k: it has step k. */
  readonly taken: number
}

/** What is known of the chains from some entries, as words of a state: steps as bits. */
const REACHED = 0
const OPEN = 1
const CLEAN = 2
const CLEAN_OPEN = 3
/** From here on, where steps may be left out: by step, the steps of the best clean chain that ends with it. */
const BEST = 4

const ENTRY = 1
const NONE = -1
/** So many entries of a unit are followed one after the other: most units have few. */
const ONE_BY_ONE_MAX = 4
/** So many states are compared pair by pair. */
const COMPARED_MAX = 8

/** The best chain found so far. */
interface Best {
  entry: number
  furthest: number
  taken: number
}

/**
 * Finds chains whose steps are in order.
 *
 * All chains from one entry share their window, so what is known of them is small: the steps that chains have
 * reached, and of these the ones that a chain without an excluded event has reached; each also among those chains
 * that can go on, which in strict order are few. Entries of equal state go on together until their windows end one
 * after the other (union-find, Tarjan 1975), so a user's many entries cost little more than one: linear in the events
 * times the states that differ, which are about as many as the steps; where steps may be left out, up to their square.
 */
export function openSequences(shape: SequenceShape, moves: Moves, isOnlyFirst: boolean) {
  const { stepCount, windowMs, entryEndMs, isStrict, optional, exclusions } = shape
  const width = BEST + (optional === 0 ? 0 : stepCount)
  const isPlain = optional === 0 && exclusions.length === 0
  const lastBit = bitOf(stepCount - 1)
  let state = new Int32Array(16 * width)
  let entryMoment = new Int32Array(16)
  /** Which entry's state an entry has: itself, or another. */
  let parent = new Int32Array(16)
  let waiting = new Int32Array(16)
  const noteBest = openBestSteps(shape, moves)

  /** Returns the steps whose chains meet an excluded event unless they go on. */
  function brokenAt(excluded: number): number {
    let broken = 0
    for (let rest = excluded; rest !== 0; rest &= rest - 1)
      broken |= exclusions[lowestStep(rest)]!.between
    return broken
  }

  /** Returns the steps that clean chains go to; those that are broken only beyond what breaks them. */
  function cleanGains(moments: Moments, at: number, open: number, broken: number): number {
    let gained = moves.fromAny(moments, at, open & ~broken)
    for (let rest = open & broken; rest !== 0; rest &= rest - 1)
      gained |= cleanFrom(moments, at, lowestStep(rest))
    return gained
  }

  function isEntry({ any, timeMs }: Moments, at: number): boolean {
    return (any[at]! & 1) === 1 && timeMs[at]! < entryEndMs
  }

  function cleanFrom(moments: Moments, at: number, step: number): number {
    return moves.from(moments, at, step) & unbroken(shape, moments.excluded[at]!, step)
  }

  function open(base: number, moments: Moments, at: number): void {
    const reached = moves.from(moments, at, START)
    state.fill(reached, base, base + BEST)
    if (optional === 0) return
    state.fill(0, base + BEST, base + width)
    for (let rest = reached; rest !== 0; rest &= rest - 1) {
      const step = lowestStep(rest)
      state[base + BEST + step] = moves.taken(moments, at, START, step)
    }
  }

  function move(base: number, moments: Moments, at: number): void {
    const stays = isStrict ? moments.all[at]! : -1
    const gained = moves.fromAny(moments, at, state[base + OPEN]!)
    state[base + REACHED]! |= gained
    state[base + OPEN] = gained | (state[base + OPEN]! & stays)
    if (isPlain) return
    const broken = exclusions.length === 0 ? 0 : brokenAt(moments.excluded[at]!)
    const cleanOpen = state[base + CLEAN_OPEN]!
    const clean = state[base + CLEAN]! & ~broken
    const cleanGained = cleanGains(moments, at, cleanOpen, broken)
    if (optional !== 0) noteBest(state, base + BEST, moments, at, { clean, cleanGained, cleanOpen })
    state[base + CLEAN] = clean | cleanGained
    state[base + CLEAN_OPEN] = cleanGained | (cleanOpen & stays & ~broken)
  }

  function takenAt(base: number, step: number): number {
    return optional === 0 ? below(step + 1) : state[base + BEST + step]!
  }

  function find(entry: number): number {
    let at = entry
    while (parent[at] !== at) at = parent[at] = parent[parent[at]!]!
    return at
  }

  function hashOf(entry: number): number {
    let hash = 0
    for (let word = entry * width; word < (entry + 1) * width; word++)
      hash = Math.imul(hash ^ state[word]!, 0x01000193)
    return hash
  }

  function areEqual(a: number, b: number): boolean {
    for (let word = 0; word < width; word++)
      if (state[a * width + word] !== state[b * width + word]) return false
    return true
  }

  /**
   * Lets states that have become equal go on as one. Drops those that no entry waits for, and those whose chains have
   * all met an excluded event.
   */
  function joinEqual(active: number[]): void {
    const byHash = active.length > COMPARED_MAX ? new Map<number, number>() : null
    let end = 0
    for (const entry of active) {
      if (waiting[entry] === 0 || state[entry * width + CLEAN] === 0) continue
      const same = byHash === null ? amongFirst(active, end, entry) : byHash.get(hashOf(entry))
      if (same !== undefined && areEqual(same, entry)) {
        parent[entry] = same
        waiting[same]! += waiting[entry]!
        continue
      }
      byHash?.set(hashOf(entry), entry)
      active[end++] = entry
    }
    active.length = end
  }

  /** Returns which of the first `end` has the state of an entry. */
  function amongFirst(active: readonly number[], end: number, entry: number): number | undefined {
    for (let at = 0; at < end; at++) if (areEqual(active[at]!, entry)) return active[at]
    return undefined
  }

  /** Takes the chains of an entry whose window is over, if they are better than what was found. */
  function settle(base: number, entry: number, found: Best): void {
    const furthest = highestStep(state[base + REACHED]!)
    if (furthest < found.furthest) return
    if (!isPlain && (state[base + CLEAN]! & bitOf(furthest)) === 0) return
    const taken = takenAt(base, furthest)
    if (furthest === found.furthest && !hasMoreSteps(taken, found.taken)) return
    found.entry = entry
    found.furthest = furthest
    found.taken = taken
  }

  function makeRoom(entryCount: number): void {
    if (entryMoment.length > entryCount) return
    const size = 2 * entryCount + 2
    entryMoment = grown(entryMoment, size)
    parent = grown(parent, size)
    waiting = grown(waiting, size)
    state = grown(state, size * width)
  }

  /**
   * Returns the best chain over all entries (or of the first): the furthest; of these the one with the most steps,
   * then the earliest entry. Null where there is none: each entry's furthest chains meet an excluded event.
   */
  function best(moments: Moments): FoundChain | null {
    const found = { entry: NONE, furthest: NONE, taken: 0 }
    if (moments.union === ENTRY) return firstEntry(moments)
    let entryCount = 0
    for (let at = 0; at < moments.count && entryCount <= ONE_BY_ONE_MAX; at++)
      entryCount += Number(isEntry(moments, at))
    if (isOnlyFirst || entryCount <= ONE_BY_ONE_MAX) followEach(moments, found)
    else followTogether(moments, found)
    return found.entry === NONE ? null : foundFrom(moments, found)
  }

  /** For units of entries and nothing else, which are many: nobody comes further. */
  function firstEntry(moments: Moments): FoundChain | null {
    for (let entry = 0; entry < moments.count; entry++)
      if (isEntry(moments, entry)) return { entry, last: entry, taken: ENTRY }
    return null
  }

  function followEach(moments: Moments, found: Best): void {
    for (let entry = 0; entry < moments.count; entry++) {
      if (!isEntry(moments, entry)) continue
      const endMs = moments.timeMs[entry]! + windowMs
      open(0, moments, entry)
      for (let at = entry + 1; at < moments.count && moments.timeMs[at]! <= endMs; at++) {
        if (isPlain && isFull(0)) break
        move(0, moments, at)
      }
      settle(0, entry, found)
      // Nothing is further, and no entry left is earlier.
      if (isOnlyFirst || (isPlain && found.furthest === stepCount - 1)) return
    }
  }

  function followTogether(moments: Moments, found: Best): void {
    const active: number[] = []
    let entryCount = 0
    let settled = 0
    const settleNext = () => {
      const own = find(settled)
      waiting[own]!--
      settle(own * width, entryMoment[settled++]!, found)
    }
    for (let at = 0; at < moments.count; at++) {
      const timeMs = moments.timeMs[at]!
      while (settled < entryCount && moments.timeMs[entryMoment[settled]!]! + windowMs < timeMs)
        settleNext()
      if (moments.any[at] === 0 && moments.excluded[at] === 0 && !isStrict) continue
      for (const entry of active) if (waiting[entry]! > 0) move(entry * width, moments, at)
      if (isEntry(moments, at)) {
        makeRoom(entryCount)
        entryMoment[entryCount] = at
        parent[entryCount] = entryCount
        waiting[entryCount] = 1
        open(entryCount * width, moments, at)
        active.push(entryCount++)
      }
      joinEqual(active)
      // Nothing is further, and no open entry is earlier.
      if (isPlain && found.furthest === stepCount - 1) return
      if (isPlain && settled < entryCount && isFull(find(settled) * width)) break
    }
    while (settled < entryCount) settleNext()
  }

  function isFull(base: number): boolean {
    return (state[base + REACHED]! & lastBit) !== 0
  }

  function foundFrom(
    moments: Moments,
    { entry, taken }: { entry: number; taken: number },
  ): FoundChain {
    const endMs = moments.timeMs[entry]! + windowMs
    let last = entry
    while (last + 1 < moments.count && moments.timeMs[last + 1]! <= endMs) last++
    return { entry, last, taken }
  }

  /**
   * Calls `take` for each attempt. One ends when it has the last step, when all its chains have met an excluded event
   * or its window is over; further entries until then are part of it. In strict order it also ends before the event
   * after which none of its chains can go on. It counts as far as it has come.
   */
  function attempts(moments: Moments, take: (chain: FoundChain) => void): void {
    for (let entry = 0; entry < moments.count;) {
      if (!isEntry(moments, entry)) {
        entry++
        continue
      }
      const { chain, next } = attemptFrom(moments, entry)
      take(chain)
      if (isOnlyFirst) return
      entry = next
    }
  }

  function attemptFrom(moments: Moments, entry: number): { chain: FoundChain; next: number } {
    const endMs = moments.timeMs[entry]! + windowMs
    open(0, moments, entry)
    let furthest = highestStep(state[CLEAN]!)
    let chain = { entry, last: entry, taken: takenAt(0, furthest) }
    let at = entry
    while (furthest < stepCount - 1) {
      at++
      if (at >= moments.count || moments.timeMs[at]! > endMs) return { chain, next: at }
      move(0, moments, at)
      const clean = isPlain ? state[REACHED]! : state[CLEAN]!
      if (clean === 0) break
      const now = highestStep(clean)
      const taken = takenAt(0, now)
      if (now > furthest || (now === furthest && hasMoreSteps(taken, chain.taken))) {
        furthest = now
        chain = { entry, last: at, taken }
      }
      if (isStrict && (isPlain ? state[OPEN] : state[CLEAN_OPEN]) === 0) return { chain, next: at }
    }
    return { chain, next: at + 1 }
  }

  return { best, attempts }
}

/** Returns the steps that a chain which had a step may have after excluded events of one moment. */
export function unbroken({ exclusions }: SequenceShape, excluded: number, step: number): number {
  let allowed = -1
  for (let rest = excluded; rest !== 0; rest &= rest - 1) {
    const { between, before } = exclusions[lowestStep(rest)]!
    if ((between & bitOf(step)) !== 0) allowed &= ~below(before)
  }
  return allowed
}

/** Returns what is the same for all units of a funnel. */
export function sequenceShapeOf(spec: FunnelSpec): SequenceShape {
  return {
    stepCount: spec.steps.length,
    windowMs: spec.windowMs,
    entryEndMs: spec.entryEndMs,
    isStrict: spec.order === 'strict',
    optional: spec.steps.reduce(
      (bits, { isOptional }, step) => bits | (isOptional ? bitOf(step) : 0),
      0,
    ),
    exclusions: spec.exclude.map(({ afterStep, beforeStep }) => ({
      before: beforeStep,
      between: below(beforeStep) & ~below(afterStep),
    })),
  }
}

function grown(column: Int32Array, size: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(size)
  larger.set(column)
  return larger
}
