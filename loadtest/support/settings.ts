/** What the environment says; read once, when the script is. Faults end the run before it begins. */

const UNIT_S: Record<string, number> = { s: 1, m: 60, h: 3_600 }

export const TARGET_URL = (given('TARGET_URL') ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')
export const ADMIN_KEY = given('ADMIN_KEY')
export const WRITE_KEY = given('WRITE_KEY')
export const READ_KEY = given('READ_KEY')

/** A whole number from 1 to `most`; `usual` where the environment has none. */
export function numberFrom(name: string, usual: number, most: number): number {
  const value = Number(given(name) ?? usual)
  if (!Number.isInteger(value) || value < 1 || value > most)
    throw new Error(`${name} is to be a whole number from 1 to ${most}`)
  return value
}

/** Seconds, of a duration such as `90s`, `10m` or `2h`; at least `least` seconds, so that each part has some. */
export function secondsFrom(name: string, usual: string, least: number): number {
  const match = /^(\d+)([smh])$/.exec(given(name) ?? usual)
  const seconds = match === null ? 0 : Number(match[1]) * UNIT_S[match[2]!]!
  if (seconds < least)
    throw new Error(`${name} is to be a duration such as 90s, at least ${least}s`)
  return seconds
}

/** What is set to nothing is not given: compose files pass variables on whether they are set or not. */
function given(name: string): string | undefined {
  const value = __ENV[name]
  return value === '' ? undefined : value
}
