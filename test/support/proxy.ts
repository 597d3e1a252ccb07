import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A way to Cassandra that can be cut and mended, as a network or a database that goes away. */
export async function openProxy(contactPoint: string) {
  const [host, port] = contactPoint.split(':')
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    if (isCut) {
      client.destroy()
      return
    }
    const upstream = connect(Number(port), host)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      // A cut connection ends with an error on either side; that is what it is for.
      from.on('error', () => to.destroy())
      from.once('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    contactPoint: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Those that are open, of both sides. */
    connectionCount: () => sockets.size,
    cut(): void {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend(): void {
      isCut = false
    },
    close(): void {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
