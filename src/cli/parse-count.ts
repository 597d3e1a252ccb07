import { InvalidArgumentError } from 'commander'

/** Makes a parser of whole numbers from 1 on, for an option of a command. */
export function parseCount(most = Infinity): (text: string) => number {
  return (text) => {
    const count = Number(text)
    if (Number.isInteger(count) && count >= 1 && count <= most) return count
    const allowed = most === Infinity ? 'above 0' : `from 1 to ${most}`
    throw new InvalidArgumentError(`a whole number ${allowed}`)
  }
}
