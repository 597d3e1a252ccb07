import type { AppEnv } from './app-env.ts'

/** Returns what is aborted once the client went away, or was answered. */
export function goneSignal(outgoing: AppEnv['Bindings']['outgoing']): AbortSignal {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  if (outgoing.destroyed) gone.abort()
  return gone.signal
}
