import process from 'node:process'
import { crash } from './crash.ts'
import { funnel } from './funnel.ts'
import { growth } from './growth.ts'
import { ingest } from './ingest.ts'
import { kills } from './kills.ts'
import { options } from './options.ts'
import { rubbish } from './rubbish.ts'
import { seal } from './seal.ts'
import { small } from './small.ts'
import { storage } from './storage.ts'
import { timeline } from './timeline.ts'

// `npm run bench -- NAME`: each prints what it does, and as its last line one JSON document. They run the
// built service, so `npm run build` comes first.
const benches: Record<string, () => Promise<unknown>> = {
  ...{ crash, funnel, growth, ingest, kills, options, rubbish, seal, small, storage, timeline },
}

const [name = ''] = process.argv.slice(2)
const bench = benches[name]
if (bench === undefined) {
  console.error(`npm run bench -- ${Object.keys(benches).join('|')}`)
  process.exit(2)
}
console.log(JSON.stringify(await bench()))
