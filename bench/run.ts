import process from 'node:process'
import { ingest } from './ingest.ts'

// `npm run bench -- NAME`: each bench prints what it does, and as its last line one JSON document.
const benches: Record<string, () => Promise<unknown>> = { ingest }

const [name = ''] = process.argv.slice(2)
const bench = benches[name]
if (bench === undefined) {
  console.error(`npm run bench -- ${Object.keys(benches).join('|')}`)
  process.exit(2)
}
console.log(JSON.stringify(await bench()))
