import { hash } from 'node:crypto'

const LENGTHS_BYTES = 12
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

interface Owner {
  readonly projectId: string
  readonly userId: string
  readonly eventName: string
}

/** Whether an event's id holds the sender's: a UUID in lower case. */
export function isHeldSentId(sentId: string): boolean {
  return UUID.test(sentId)
}

/**
 * Returns the 16 bytes of an event's id: the same for the same project, user, event name and sender's id.
 * Of a sender's UUID it is that UUID, with the digest of the other three laid over all bits but those of
 * its version and variant; `heldSentId` takes it off again, so the UUID is stored once. Of any other id it
 * is the UUIDv5 (RFC 9562, section 5.5) of all four.
 */
export function eventIdOf(event: Owner & { readonly sentId: string }): Buffer {
  const { sentId } = event
  if (isHeldSentId(sentId)) return overlaid(event, Buffer.from(sentId.replaceAll('-', ''), 'hex'))
  const id = digestOf(event, sentId)
  id[6] = (id[6]! & 0x0f) | 0x50
  id[8] = (id[8]! & 0x3f) | 0x80
  return id
}

/** Returns the sender's UUID that an event's id holds. */
export function heldSentId(event: Owner & { readonly eventId: Uint8Array }): string {
  return uuidText(overlaid(event, Buffer.from(event.eventId)))
}

/** Returns a UUID as text. */
export function uuidText(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Lays the owner's digest over a UUID, or takes it off, in place. */
function overlaid(owner: Owner, uuid: Buffer): Buffer {
  const digest = digestOf(owner, '')
  digest[6]! &= 0x0f
  digest[8]! &= 0x3f
  for (let at = 0; at < uuid.length; at++) uuid[at]! ^= digest[at]!
  return uuid
}

/** Each part but the last is preceded by its length, so that no two differ only in where one ends. */
function digestOf({ projectId, userId, eventName }: Owner, sentId: string): Buffer {
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
  return hash('sha1', name.subarray(0, end), 'buffer').subarray(0, 16)
}

/** Drawn once at random; part of every event id, so it never changes. */
export const EVENT_NAMESPACE = Buffer.from('5b1f0c7e9a3d4e62b8c4d10f6e2a97c3', 'hex')
