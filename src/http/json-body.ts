import { AppError } from '../error.ts'

/** Parses a JSON body. Throws INVALID_REQUEST. */
export function parseJsonBody(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw new AppError('INVALID_REQUEST', 'the body is not JSON in UTF-8', { cause: error })
  }
}
