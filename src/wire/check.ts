import type { z } from 'zod'
import { AppError, type ErrorCode } from '../error.ts'

/** Checks a parsed body. Throws the given code with every fault, each with the path to it. */
export function checked<T extends z.ZodType>(
  schema: T,
  value: unknown,
  code: Extract<ErrorCode, 'INVALID_QUERY' | 'INVALID_REQUEST'>,
): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const [first] = faults
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `
  throw new AppError(code, `${where}${first?.message ?? 'not understood'}`, { faults })
}
