import { AppError } from '../error.ts'
import { assertFewValues } from '../wire/json-values.ts'

/** Parses a JSON body. Throws INVALID_REQUEST, or BODY_TOO_LARGE for one of very many values. */
export function parseJsonBody(body: Buffer): unknown {
  assertFewValues(body)
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    throw new AppError('INVALID_REQUEST', 'the body is not JSON in UTF-8', { cause: error })
  }
}
