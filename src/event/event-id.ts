import { hash } from 'node:crypto'

const LENGTHS_BYTES = 12

/**
 * Returns the 16 bytes of an event's id: a UUIDv5 (RFC 9562, section 5.5) in the namespace
 * `EVENT_NAMESPACE` of the project, user, event name and the sender's id, each of the first three
 * preceded by its length so that no two differ only in where one ends.
 */
export function eventIdOf(event: {
  readonly projectId: string
  readonly userId: string
  readonly eventName: string
  readonly sentId: string
}): Buffer {
  const { projectId, userId, eventName, sentId } = event
  const name = Buffer.allocUnsafe(
    EVENT_NAMESPACE.length +
      LENGTHS_BYTES +
      3 * (projectId.length + userId.length + eventName.length + sentId.length),
  )
  let end = EVENT_NAMESPACE.copy(name)
  for (const part of [projectId, userId, eventName]) {
    const size = name.write(part, end + 4, 'utf8')
    name.writeUInt32BE(size, end)
    end += 4 + size
  }
  end += name.write(sentId, end, 'utf8')
  const id = hash('sha1', name.subarray(0, end), 'buffer').subarray(0, 16)
  id[6] = (id[6]! & 0x0f) | 0x50
  id[8] = (id[8]! & 0x3f) | 0x80
  return id
}

/** Drawn once at random; part of every event id, so it never changes. */
export const EVENT_NAMESPACE = Buffer.from('5b1f0c7e9a3d4e62b8c4d10f6e2a97c3', 'hex')
