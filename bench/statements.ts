// How many Cassandra statements a service has made, from its own figures.
const LINE = /^store_statement_duration_seconds_count\{(.*)\} (\d+(?:\.\d+)?(?:e\+\d+)?)$/gm

/** By `table operation`; the outcomes together. */
export type Statements = ReadonlyMap<string, number>

export async function statementsOf(url: string): Promise<Statements> {
  const text = await figuresOf(url)
  const counts = new Map<string, number>()
  for (const [, labels, count] of text.matchAll(LINE)) {
    const of = (label: string) => new RegExp(`\\b${label}="([^"]*)"`).exec(labels!)?.[1] ?? ''
    const key = `${of('table')} ${of('operation')}`
    counts.set(key, (counts.get(key) ?? 0) + Number(count))
  }
  return counts
}

/** How many events a service has sealed since it started. */
export async function sealedEventsOf(url: string): Promise<number> {
  const found = [...(await figuresOf(url)).matchAll(/^seal_events_total(?:\{.*\})? (\S+)$/gm)]
  return found.reduce((sum, [, count]) => sum + Number(count), 0)
}

async function figuresOf(url: string): Promise<string> {
  return await (await fetch(`${url}/metrics`)).text()
}

// What nothing but sealing does: the way in writes other tables, and nobody asks meanwhile.
const OF_SEALING = new Set([
  ...['objects', 'roots', 'loose_objects', 'seal_leases'],
  ...['writers list', 'writer_heads read', 'projects list'],
])

/** Returns what was made from one look to the next, a second; and that of sealing alone. */
export function statementsPerSecond(before: Statements, after: Statements, seconds: number) {
  const perSecond = (isCounted: (key: string) => boolean) => {
    let count = 0
    for (const [key, total] of after) if (isCounted(key)) count += total - (before.get(key) ?? 0)
    return Number((count / seconds).toFixed(1))
  }
  const isOfSealing = (key: string) => {
    const [table = ''] = key.split(' ')
    const isRead = table === 'arrivals' && !OF_INGEST.has(key)
    return isRead || OF_SEALING.has(table) || OF_SEALING.has(key)
  }
  return { all: perSecond(() => true), ofSealing: perSecond(isOfSealing) }
}

const OF_INGEST = new Set(['arrivals append'])
