import { z } from 'zod'

const eventName = z.string().min(1).max(200)

/** Parameters of `/v1/events/properties` and `/v1/events/live`: of one event name, or of all. */
export const EventNameQuery = z.object({ event: eventName.optional() })
