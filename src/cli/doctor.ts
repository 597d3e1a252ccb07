import { statfs } from 'node:fs/promises'
import type { Command } from 'commander'
import { systemClock as clock } from '../clock.ts'
import { runningDatabase } from '../embedded/running.ts'
import { openLog } from '../log.ts'
import { declareMetrics } from '../metrics.ts'
import { openSession } from '../store/session.ts'
import { openStores } from '../store/stores.ts'
import { examine, type Finding } from '../upkeep/doctor.ts'

const FREE_BYTES_MIN = 5 * 2 ** 30
