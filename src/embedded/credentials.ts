import { randomBytes } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import type { Logins } from '../store/roles.ts'
import { contentOf } from './os-process.ts'

const PASSWORD_BYTES = 24

/**
 * Returns the logins that are kept in a file; draws them at the first start. They are kept before any
 * role has them, so that a start that was cut off can go on with the same ones.
 */
export async function loadLogins(path: string): Promise<Logins> {
  const kept = await contentOf(path)
  if (kept !== null) return JSON.parse(kept) as Logins
  const logins: Logins = {
    migration: { username: 'thousandfold_migration', password: randomPassword() },
    service: { username: 'thousandfold_service', password: randomPassword() },
  }
  await writeFile(`${path}.new`, `${JSON.stringify(logins, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return logins
}

function randomPassword(): string {
  return randomBytes(PASSWORD_BYTES).toString('base64url')
}
