import { AppError } from '../error.ts'

/** Tries again where an object was deleted on the way: what is published now leads to others. */
export async function retriedOnce<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'DATA_DAMAGED') throw error
    return await work()
  }
}
