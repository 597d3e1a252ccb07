import { readServiceFile } from '../src/cli/service-file.ts'
import { keptLogins } from '../src/embedded/database.ts'
import { openLog } from '../src/log.ts'
import { declareMetrics } from '../src/metrics.ts'
import { openSession } from '../src/store/session.ts'
import { openStores, type Stores } from '../src/store/stores.ts'
import type { ServiceProcess } from './service-process.ts'

const KEYSPACE = 'thousandfold'

/** Opens the tables of a running service's embedded Cassandra, with the service's own login. */
export async function openStoresOf({
  dataDir,
}: Pick<ServiceProcess, 'dataDir'>): Promise<{ stores: Stores; close: () => Promise<void> }> {
  const service = await readServiceFile(dataDir)
  if (service === null) throw new Error(`no service runs in ${dataDir}`)
  const { contactPoints, localDataCenter } = service
  const logins = await keptLogins(dataDir)
  const session = await openSession({
    ...{ contactPoints, localDataCenter, keyspace: KEYSPACE, credentials: logins.service },
    ...{ log: openLog('warn'), metrics: declareMetrics() },
  })
  return { stores: openStores(session), close: () => session.close() }
}
