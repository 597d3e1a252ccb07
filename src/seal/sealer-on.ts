import type { Clock } from '../clock.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { openRowWriter } from '../store/row-writer.ts'
import type { Session } from '../store/session.ts'
import { openStores } from '../store/stores.ts'
import { openSealer, type Sealer } from './sealer.ts'

/** Of rows that dead writers left out: not many, and not in a hurry. */
const BATCHES_IN_FLIGHT_MAX = 8
/** Directories of level 0 are looked at once or twice. */
const DOCUMENT_BYTES_MAX = 1_048_576

/** Opens a sealer that has the tables of a session, with what it needs to keep of them. */
export function openSealerOn(
  session: Session,
  dependencies: { readonly clock: Clock; readonly metrics: Metrics; readonly log: Logger },
): Sealer {
  const { metrics } = dependencies
  const stores = openStores(session, DOCUMENT_BYTES_MAX)
  const rows = openRowWriter({ ...stores, metrics, batchesInFlightMax: BATCHES_IN_FLIGHT_MAX })
  return openSealer({ stores, rows, ...dependencies })
}
