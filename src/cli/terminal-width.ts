import process from 'node:process'

const WIDTH_DEFAULT = 120

/** Returns how many characters fit in a line of the terminal. */
export function terminalWidth(): number {
  return process.stdout.columns ?? WIDTH_DEFAULT
}
