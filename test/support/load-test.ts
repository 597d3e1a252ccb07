import { runScript } from '../../loadtest/runner/run-script.ts'

/** What a load test said, and how it ended. */
export interface EndedTest {
  readonly code: number
  readonly out: string
  readonly errors: string
}

/** Runs a k6 script with the runner of this repository, in this process. */
export async function runLoadTest(
  path: string,
  environment: Readonly<Record<string, string>> = {},
  stop = new AbortController().signal,
): Promise<EndedTest> {
  const said = { code: 0, out: '', errors: '' }
  said.code = await runScript(path, {
    ...{ environment, stop },
    print: (text) => void (said.out += `${text}\n`),
    printError: (text) => void (said.errors += `${text}\n`),
  })
  return said
}
