import { Client, errors, types } from 'cassandra-driver'
import type { Credentials } from './session.ts'

const READ_TIMEOUT_MS = 12_000
const FIND_ROLE = 'SELECT role FROM system_auth.roles WHERE role = ?'
const DEFAULT_SUPERUSER: Credentials = { username: 'cassandra', password: 'cassandra' }

export interface Node {
  /** host:port */
  readonly contactPoint: string
  readonly localDataCenter: string
}

export interface Logins {
  /** May change the schema: a superuser, whom guardrails do not bind. */
  readonly migration: Credentials
  /** No superuser: guardrails bind it, and its rights are those that a migration grants. */
  readonly service: Credentials
}

/**
 * Logs in as both roles, which it makes where they are missing; Cassandra's default superuser can no
 * longer log in afterwards. Safe to repeat after being cut off anywhere.
 *
 * Throws the driver's error while the node cannot be reached, or knows no login yet.
 */
export async function prepareRoles(node: Node, { migration, service }: Logins): Promise<void> {
  if (!(await takesLogin(node, migration)))
    await withClient(node, DEFAULT_SUPERUSER, (client) => setLogin(client, migration, true))
  await withClient(node, migration, async (client) => {
    if (!(await takesLogin(node, service))) await setLogin(client, service, false)
    await client.execute('ALTER ROLE cassandra WITH LOGIN = false')
  })
}

async function takesLogin(node: Node, credentials: Credentials): Promise<boolean> {
  try {
    await withClient(node, credentials, async () => {})
    return true
  } catch (error) {
    if (!isRefusedLogin(error)) throw error
    return false
  }
}

// Altered only where it is there: Cassandra refuses to change a password twice within five seconds.
async function setLogin(
  client: Client,
  { username, password }: Credentials,
  isSuperuser: boolean,
): Promise<void> {
  const found = await client.execute(FIND_ROLE, [username], { prepare: true })
  const verb = found.rowLength === 0 ? 'CREATE' : 'ALTER'
  await client.execute(
    `${verb} ROLE "${username.replaceAll('"', '""')}" WITH PASSWORD = '${password.replaceAll("'", "''")}'
       AND LOGIN = true AND SUPERUSER = ${isSuperuser}`,
  )
}

async function withClient(
  { contactPoint, localDataCenter }: Node,
  credentials: Credentials,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client({
    contactPoints: [contactPoint],
    localDataCenter,
    credentials,
    protocolOptions: { maxVersion: 4 },
    // Without heartbeats: the driver leaves their timers behind when a login is refused.
    pooling: { coreConnectionsPerHost: { [types.distance.local]: 1 }, heartBeatInterval: 0 },
    socketOptions: { readTimeout: READ_TIMEOUT_MS },
  })
  try {
    await client.connect()
    await work(client)
  } finally {
    await client.shutdown()
  }
}

function isRefusedLogin(error: unknown): boolean {
  if (error instanceof errors.NoHostAvailableError)
    return Object.values(error.innerErrors as Record<string, unknown>).some(isRefusedLogin)
  return error instanceof errors.AuthenticationError
}
