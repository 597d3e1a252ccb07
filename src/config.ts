import { existsSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { z } from 'zod'
import { AppError } from './error.ts'

const PORT_MAX = 65_535

const integer = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error })
}

const contactPoint = z
  .string()
  .regex(/^(\[[0-9a-fA-F:]+\]|[^\s:,]+):\d{1,5}$/, { message: 'give host:port,host:port,…' })
  .refine((point) => Number(/\d+$/.exec(point)?.[0]) <= PORT_MAX, { message: 'no such port' })
const contactPoints = z
  .string()
  .transform((text) => text.split(',').map((point) => point.trim()))
  .pipe(z.array(contactPoint))

// `dc1:3,dc2:2`: replicas by data centre.
const replication = z
  .string()
  .regex(/^[\w-]+:[1-9]\d?(,[\w-]+:[1-9]\d?)*$/, { message: 'give dc1:3,dc2:2,…' })
  .transform((text) =>
    Object.fromEntries(
      text.split(',').map((part): [string, number] => {
        const [dataCentre = '', count = ''] = part.split(':')
        return [dataCentre, Number(count)]
      }),
    ),
  )

/** Every variable that is read, its range and its default. README.md lists them for operators. */
const Environment = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: integer(0, PORT_MAX).default(8080), // 0: any free one
  ADMIN_KEY: z
    .string()
    .regex(/^[\x21-\x7e]{16,256}$/, { message: '16 to 256 visible ASCII characters, no spaces' })
    .optional(),
  DATA_DIR: z.string().min(1).default('.thousandfold'),
  CACHE_DIR: z
    .string()
    .min(1)
    .default(join(homedir(), '.cache', 'thousandfold')),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),

  CASSANDRA_CONTACT_POINTS: contactPoints.optional(),
  CASSANDRA_LOCAL_DC: z.string().min(1).default('datacenter1'),
  CASSANDRA_KEYSPACE: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,47}$/)
    .default('thousandfold'),
  CASSANDRA_USERNAME: z.string().min(1).optional(),
  CASSANDRA_PASSWORD: z.string().min(1).optional(),
  CASSANDRA_MIGRATION_USERNAME: z.string().min(1).optional(),
  CASSANDRA_MIGRATION_PASSWORD: z.string().min(1).optional(),
  CASSANDRA_REPLICATION: replication.optional(),

  // The embedded Cassandra only.
  CASSANDRA_RUNTIME: z.enum(['auto', 'jars', 'docker']).default('auto'),
  CASSANDRA_PORT: integer(0, PORT_MAX).default(9042), // 0: any free one
  CASSANDRA_HEAP_MB: integer(256, 31_744).default(512),
  PATH: z.string().default(''), // where java, mvn and docker are looked for
  JAVA_HOME: z.string().min(1).optional(),

  // Ingest.
  INGEST_LINGER_MS: integer(0, 1_000).default(8),
  INGEST_BATCHES_IN_FLIGHT_MAX: integer(1, 1_024).default(32),
  INGEST_COMMITS_IN_FLIGHT_MAX: integer(1, 256).default(4),
  INGEST_PENDING_EVENTS_MAX: integer(1_000, 1_000_000).default(20_000),
  INGEST_PENDING_BYTES_MAX: integer(16_777_216, 1_073_741_824).default(33_554_432),
  INGEST_ACKNOWLEDGE_TIMEOUT_MS: integer(100, 60_000).default(10_000),
  BODY_BYTES_IN_FLIGHT_MAX: integer(16_777_216, 1_073_741_824).default(67_108_864),
  USER_EVENTS_PER_DAY_MAX: integer(1, 10_000_000).default(50_000),

  // Questions.
  QUERIES_IN_FLIGHT_MAX: integer(1, 1_024).default(8),
  QUERY_READS_IN_FLIGHT_MAX: integer(1, 1_024).default(32),
  QUERY_PARTITIONS_MAX: integer(1, 100_000_000).default(1_000_000),
  QUERY_TIMEOUT_MS: integer(100, 3_600_000).default(600_000),
  QUERY_THREADS: integer(1, 64).default(Math.min(8, availableParallelism())),
  QUERY_MEMORY_MB: integer(16, 65_536).default(256),
  QUERY_EVENTS_MAX: integer(1, 100_000_000_000).default(500_000_000),
  SEGMENT_CACHE_MB: integer(0, 1_048_576).default(256),

  // Sealing.
  SEALING: z.enum(['on', 'off']).default('on'),

  // `start` only.
  DEMO: z.enum(['on', 'off']).default('on'),

  SHUTDOWN_TIMEOUT_MS: integer(1_000, 600_000).default(20_000),
})

export type Config = Readonly<z.infer<typeof Environment>>

/** Parses an environment, once, at start. Names all wrong variables together; shows no value. */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  // An empty variable is an absent one, as compose files and shells leave them.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(given)
  if (parsed.success) return Object.freeze(parsed.data)
  const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw new AppError('INVALID_CONFIG', wrong.join('\n'))
}

/** Reads the environment of this process, with a `.env` of the working folder below it. */
export function loadConfig(): Config {
  if (existsSync('.env')) process.loadEnvFile('.env')
  return parseConfig(process.env)
}
