import { Client, errors, policies, types } from 'cassandra-driver'
import { AppError } from '../error.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { mendReconnection } from './mend-reconnection.ts'

export const READ_TIMEOUT_MS = 6_000
/** A schema change waits for those before it, and for all nodes. */
const SCHEMA_TIMEOUT_MS = 60_000
const RECONNECT_MS = 500
const CONNECTIONS_PER_HOST = 2
/** As many rows as make a page of less than 8 MiB, above which the server warns, if each takes 64 KiB. */
export const LARGE_ROWS_PER_PAGE_MAX = 120
/** A page that is not warned of, so often, is not refused: that is at 32 MiB. */
const PAGE_GROWTH = 4

/** One CQL statement, and what it is called in metrics and errors. */
export interface Statement {
  readonly table: string
  readonly operation: string
  readonly cql: string
  /** False for counters and compare-and-set: their second try may count twice. True by default. */
  readonly isIdempotent?: boolean
  /** LOCAL_QUORUM by default. */
  readonly consistency?: types.consistencies
}

export interface BatchItem {
  readonly cql: string
  readonly values: unknown[]
}

export interface Page {
  readonly rows: types.Row[]
  /** Where the next page begins; null after the last. A page may be empty and not be the last. */
  readonly nextPage: string | null
}

interface SizedPage extends Page {
  readonly sizeWarnings: readonly string[]
}

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface SessionOptions {
  readonly contactPoints: readonly string[]
  readonly localDataCenter: string
  readonly keyspace?: string
  readonly credentials: Credentials | undefined
  readonly log: Logger
  readonly metrics: Metrics
  /** What the server says beside a result: tombstones, large batches. Tests fail on any. */
  readonly onWarning?: (warning: string) => void
  /** Whether blobs are views of what came over the network: for those who copy them at once. */
  readonly areBlobsViews?: boolean
}

export type Session = Awaited<ReturnType<typeof openSession>>

/**
 * Opens the connection to Cassandra. It is the only catcher of driver errors: time-outs and overload
 * become OVERLOADED, no reachable replica STORE_UNAVAILABLE; the rest is rethrown with its table.
 */
export async function openSession(options: SessionOptions) {
  const { log, metrics, onWarning } = options
  const client = new Client(clientOptions(options))
  mendReconnection(client)
  client.on('log', (level: string, _source: string, message: string) => {
    if (level === 'error') log.warn({ driver: message }, 'the Cassandra driver reports an error')
  })
  await client.connect().catch(async (error: unknown) => {
    await client.shutdown()
    throw translated(error, 'Cassandra', `at ${options.contactPoints.join()}`)
  })

  async function run(
    statement: Statement,
    work: () => Promise<types.ResultSet>,
    isTold = (_warning: string) => true,
  ) {
    const { table, operation } = statement
    const endTimer = metrics.storeStatement.startTimer({ table, operation })
    metrics.storeInFlight.inc()
    try {
      const result = await work()
      endTimer({ outcome: 'ok' })
      for (const warning of result.info.warnings ?? [])
        if (isTold(warning)) warn(statement, warning)
      return result
    } catch (error) {
      endTimer({ outcome: 'error' })
      throw translated(error, table, operation)
    } finally {
      metrics.storeInFlight.dec()
    }
  }

  async function readPage(
    statement: Statement,
    values: unknown[],
    { pageRowsMax, page }: { pageRowsMax: number; page: string | null },
  ): Promise<SizedPage> {
    const options = { ...queryOptions(statement), fetchSize: pageRowsMax, autoPage: false }
    const result = await run(
      statement,
      () =>
        client.execute(
          statement.cql,
          values,
          page === null ? options : { ...options, pageState: page },
        ),
      (warning) => !isAboutSize(warning),
    )
    const sizeWarnings = (result.info.warnings ?? []).filter(isAboutSize)
    return { rows: result.rows ?? [], nextPage: result.pageState ?? null, sizeWarnings }
  }

  function warn({ table, operation }: Statement, warning: string) {
    metrics.storeWarnings.inc()
    log.warn({ table, operation, warning }, 'Cassandra warns')
    onWarning?.(warning)
  }

  return {
    keyspace: options.keyspace,

    /** Runs one statement and returns its rows: all of them, for results known to fit one page. */
    async execute(statement: Statement, values: unknown[] = []): Promise<types.Row[]> {
      const result = await run(statement, () =>
        client.execute(statement.cql, values, queryOptions(statement)),
      )
      return result.rows ?? []
    },

    /** Changes the schema, and waits until all hosts that are up agree on it. */
    async changeSchema(table: string, cql: string): Promise<void> {
      const statement = { table, operation: 'changeSchema', cql, isIdempotent: false }
      const options = { prepare: false, isIdempotent: false, readTimeout: SCHEMA_TIMEOUT_MS }
      await run(statement, () => client.execute(cql, [], options))
    },

    /** Runs a compare-and-set; returns whether it was applied. A time-out leaves that unknown. */
    async compareAndSet(statement: Statement, values: unknown[]): Promise<boolean> {
      const options = { ...queryOptions(statement), isIdempotent: false }
      const result = await run(statement, () => client.execute(statement.cql, values, options))
      return result.wasApplied()
    },

    /** Reads one page. By hand, since iterating a result stops at its first empty page. */
    async page(
      statement: Statement,
      values: unknown[],
      place: { pageRowsMax: number; page: string | null },
    ): Promise<Page> {
      const { sizeWarnings, ...page } = await readPage(statement, values, place)
      for (const warning of sizeWarnings) warn(statement, warning)
      return page
    },

    /** Reads all pages of a result that a caller knows to be small. */
    async all(statement: Statement, values: unknown[], pageRowsMax = 5_000): Promise<types.Row[]> {
      const rows: types.Row[] = []
      let page: string | null = null
      do {
        const next: Page = await this.page(statement, values, { pageRowsMax, page })
        for (const row of next.rows) rows.push(row)
        page = next.nextPage
      } while (page !== null)
      return rows
    },

    /**
     * Yields all pages of rows that may be small or large. The first page fits whatever their size; the
     * next ones grow until the server finds one too large, and from there on they are as the first.
     */
    async *pages(
      statement: Statement,
      values: unknown[],
      pageRowsMax: number,
    ): AsyncGenerator<types.Row[]> {
      const firstRowsMax = Math.min(LARGE_ROWS_PER_PAGE_MAX, pageRowsMax)
      let rowsMax = firstRowsMax
      let areLarge = false
      let page: string | null = null
      do {
        let next: SizedPage
        try {
          next = await readPage(statement, values, { pageRowsMax: rowsMax, page })
        } catch (error) {
          if (rowsMax === firstRowsMax || !isReadFailure(error)) throw error
          areLarge = true
          next = await readPage(statement, values, { pageRowsMax: firstRowsMax, page })
        }
        yield next.rows
        areLarge ||= next.sizeWarnings.length > 0
        rowsMax = areLarge ? firstRowsMax : Math.min(pageRowsMax, PAGE_GROWTH * rowsMax)
        page = next.nextPage
      } while (page !== null)
    },

    /** Writes idempotent rows as one unlogged batch, sent to a replica of `routingKey`. */
    async batch(statement: Statement, items: BatchItem[], routingKey: Buffer): Promise<void> {
      const queries = items.map(({ cql, values }) => ({ query: cql, params: values }))
      await run(statement, () =>
        client.batch(queries, { ...queryOptions(statement), logged: false, routingKey }),
      )
    },

    /** Names the replicas of a partition; the same text for the same set of hosts. */
    replicasOf(routingKey: () => Buffer): string {
      if (client.hosts.length < 2 || options.keyspace === undefined) return ''
      const replicas = client.getReplicas(options.keyspace, routingKey()) ?? []
      return replicas
        .map(({ address }) => address)
        .sort()
        .join()
    },

    /** How many hosts are up, in the local data centre. */
    hostsUp(): number {
      return client.hosts
        .values()
        .filter((host) => host.isUp() && host.datacenter === options.localDataCenter).length
    },

    connections(): number {
      const state = client.getState()
      return state
        .getConnectedHosts()
        .reduce((count, host) => count + state.getOpenConnections(host), 0)
    },

    close: () => client.shutdown(),
  }
}

/** The routing key of a partition key of several parts, as Cassandra composes it. */
export function routingKeyOf(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(
    parts.flatMap((part) => {
      const value = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
      return [smallintKey(value.length), value, PART_END]
    }),
  )
}

const PART_END = Buffer.alloc(1)

export function smallintKey(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2)
  bytes.writeUInt16BE(value)
  return bytes
}

export function intKey(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}

function clientOptions({ areBlobsViews = false, ...options }: SessionOptions) {
  const { contactPoints, localDataCenter, keyspace, credentials } = options
  return {
    contactPoints: [...contactPoints],
    localDataCenter,
    ...(keyspace === undefined ? {} : { keyspace }),
    ...(credentials === undefined ? {} : { credentials }),
    protocolOptions: { maxVersion: 4 },
    pooling: { coreConnectionsPerHost: { [types.distance.local]: CONNECTIONS_PER_HOST } },
    socketOptions: { readTimeout: READ_TIMEOUT_MS },
    encoding: { useBigIntAsLong: true, copyBuffer: !areBlobsViews },
    policies: { reconnection: new policies.reconnection.ConstantReconnectionPolicy(RECONNECT_MS) },
  }
}

function queryOptions({ isIdempotent = true, consistency }: Statement) {
  return {
    prepare: true,
    isIdempotent,
    consistency: consistency ?? types.consistencies.localQuorum,
    serialConsistency: types.consistencies.localSerial,
  }
}

const OVERLOAD_CODES: ReadonlySet<number> = new Set([
  types.responseErrorCodes.serverError,
  types.responseErrorCodes.overloaded,
  types.responseErrorCodes.isBootstrapping,
  types.responseErrorCodes.writeTimeout,
  types.responseErrorCodes.readTimeout,
  types.responseErrorCodes.writeFailure,
  types.responseErrorCodes.readFailure,
])

function translated(error: unknown, table: string, operation: string): Error {
  const where = `${table} ${operation}`
  const refusal = loginRefusal(error)
  if (refusal !== null)
    return new AppError('INVALID_CONFIG', `${where}: ${refusal}`, { cause: error })
  if (error instanceof errors.NoHostAvailableError || isUnavailable(error))
    return new AppError('STORE_UNAVAILABLE', `${where}: Cassandra cannot be reached`, {
      cause: error,
    })
  const isOverload =
    error instanceof errors.OperationTimedOutError ||
    error instanceof errors.BusyConnectionError ||
    (error instanceof errors.ResponseError && OVERLOAD_CODES.has(error.code))
  if (isOverload)
    return new AppError('OVERLOADED', `${where}: Cassandra is overloaded`, { cause: error })
  return new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, {
    cause: error,
  })
}

// The server tells a page that is too large by the same code as one that a replica could not read.
function isReadFailure(error: unknown): boolean {
  const { cause } = error as Error
  return (
    cause instanceof errors.ResponseError && cause.code === types.responseErrorCodes.readFailure
  )
}

function isAboutSize(warning: string): boolean {
  return /read size warning|exceeded the size warning threshold/.test(warning)
}

function isUnavailable(error: unknown): boolean {
  return (
    error instanceof errors.ResponseError &&
    error.code === types.responseErrorCodes.unavailableException
  )
}

/** Returns what Cassandra says of our login or keyspace, where that is all that is wrong. */
function loginRefusal(error: unknown): string | null {
  const causes =
    error instanceof errors.NoHostAvailableError ? Object.values(error.innerErrors) : [error]
  const refusals = causes.map((cause) => {
    if (cause instanceof errors.AuthenticationError) return cause.message
    const isKeyspace = cause instanceof Error && /^Keyspace .* does not exist/.test(cause.message)
    return isKeyspace ? `${cause.message}: run \`npx thousandfold migrate\`` : null
  })
  return refusals.length > 0 && refusals.every((refusal) => refusal !== null) ? refusals[0]! : null
}
