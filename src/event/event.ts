/**
 * Something that happened, as its sender told it, checked and placed. `properties` is the JSON text of
 * an object, numbers written as they were sent.
 */
export interface Event {
  /** 16 bytes; the same for every copy of one event. See `eventIdOf`. */
  readonly eventId: Buffer
  /** The sender's id; null where the event id holds it (`heldSentId`), or one that we drew. */
  readonly sentId: string | null
  readonly eventName: string
  /** `userId` as sent, else `anon:` + anonymousId. */
  readonly userId: string
  readonly anonymousId: string | null
  readonly sessionId: string | null
  readonly eventTimeMs: number
  readonly receivedAtMs: number
  readonly properties: string
}

/** Why an event was not taken. For the sender; told by index within the batch. */
export type RejectionCode = 'INVALID_EVENT' | 'TIME_OUT_OF_RANGE' | 'EVENT_TOO_LARGE' | 'USER_LIMIT'

export interface Rejection {
  readonly code: RejectionCode
  readonly message: string
}
