// A process of its own that posts batches in a closed loop for a while, and prints what came of it.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import process from 'node:process'

const [url = '', writeKey = '', connectionsText, secondsText, batchText] = process.argv.slice(2)
const connections = Number(connectionsText)
const endMs = Date.now() + Number(secondsText) * 1000
const batchEvents = Number(batchText)
const agent = new Agent({ keepAlive: true, maxSockets: connections })
const options = {
  method: 'POST',
  agent,
  headers: { authorization: `Bearer ${writeKey}`, 'content-type': 'application/json' },
}

let made = 0
let accepted = 0
let failed = 0
const latenciesMs: number[] = []

function anEvent() {
  const index = made++
  const pick = <T>(values: readonly T[]) => values[index % values.length]
  return {
    id: randomUUID(),
    event: pick(['page_view', 'add_to_cart', 'purchase']),
    userId: (index * 7919) % 1_000_003,
    time: Date.now() - ((index * 37) % 5_000),
    properties: {
      path: `/pricing/${index % 50}`,
      country: pick(['DE', 'US', 'FR', 'GB', 'IN']),
      browser: pick(['Firefox', 'Chrome', 'Safari']),
      utm_source: pick(['google', 'bing', 'mail', 'none']),
      plan: pick(['free', 'pro']),
    },
  }
}

function post(): Promise<void> {
  const body = JSON.stringify(Array.from({ length: batchEvents }, anEvent))
  const startMs = performance.now()
  return new Promise((resolve) => {
    const sent = request(`${url}/v1/events`, options, (response) => {
      response.resume()
      response.once('end', () => {
        if (response.statusCode === 200) accepted += batchEvents
        else failed++
        latenciesMs.push(performance.now() - startMs)
        resolve()
      })
    })
    sent.once('error', () => {
      failed++
      resolve()
    })
    sent.end(body)
  })
}

const startMs = performance.now()
await Promise.all(
  Array.from({ length: connections }, async () => {
    while (Date.now() < endMs) await post()
  }),
)
const seconds = (performance.now() - startMs) / 1000
agent.destroy()
latenciesMs.sort((a, b) => a - b)
const quantile = (q: number) => Math.round(latenciesMs[Math.floor(latenciesMs.length * q)] ?? 0)
console.log(
  JSON.stringify({
    eventsPerSecond: Math.round(accepted / seconds),
    failed,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }),
)
