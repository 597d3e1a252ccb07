import http, { type Response } from 'k6/http'
import { TARGET_URL } from './settings.ts'

/** What one request is; `name` is the tag by which thresholds find it. */
export interface Call {
  readonly key: string
  readonly name: string
  readonly body?: unknown
  readonly timeout?: string
}

/** Sends one request of the API. Never throws for what was answered; without an answer the status is 0. */
export async function call(method: string, path: string, sent: Call): Promise<Response> {
  const { key, name, body, timeout = '60s' } = sent
  const json = body === undefined ? null : JSON.stringify(body)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const params = { headers, timeout, tags: { name } }
  return await http.asyncRequest(method, `${TARGET_URL}${path}`, json, params)
}

/** The JSON of an answer with status 200 or 201; null of any other. */
export function jsonOf<T>(response: Response): T | null {
  return response.status === 200 || response.status === 201 ? (response.json() as T) : null
}
