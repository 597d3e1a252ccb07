import type { Client } from 'cassandra-driver'

type Listen = (host: unknown, connection: unknown) => void

/** What the driver has and its types do not tell. */
interface Inner {
  readonly controlConnection: { _setHealthListeners: Listen }
}
interface DroppedHost {
  readonly shutdown: (isDrained: boolean) => Promise<void>
}

/**
 * Mends what driver 4.10 does when all of Cassandra was away and comes back (NODEJS-681). It listens twice to
 * its control connection, and so reconnects twice at once after the next outage, four times after that; and
 * it takes its hosts for new ones, and leaves the pools of the old ones open. These connections belonged to
 * nobody, and were not closed with the client.
 */
export function mendReconnection(client: Client): void {
  const { controlConnection } = client as unknown as Inner
  const listen = controlConnection._setHealthListeners.bind(controlConnection)
  let heard: unknown = null
  controlConnection._setHealthListeners = (host, connection) => {
    if (connection === heard) return
    heard = connection
    listen(host, connection)
  }
  client.on('hostRemove', (host: DroppedHost) => void host.shutdown(false))
}
