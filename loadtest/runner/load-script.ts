import { compileFunction } from 'node:vm'
import { build } from 'esbuild'

/** What a script exports: `options`, `setup`, `teardown`, `handleSummary`, and what scenarios run. */
export type ScriptExports = Record<string, unknown>

/** Runs the script's top level once more, as each virtual user has a script of its own. */
export type Script = (
  modules: (name: string) => unknown,
  environment: Record<string, string>,
) => ScriptExports

/** Bundles a k6 script with the files that it imports; what begins with `k6` is left to be given. Throws if wrong. */
export async function loadScript(path: string): Promise<Script> {
  const { outputFiles } = await build({
    entryPoints: [path],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'neutral',
    target: 'es2022',
    external: ['k6', 'k6/*'],
    logLevel: 'silent',
  })
  const run = compileFunction(outputFiles[0]!.text, ['module', 'exports', 'require', '__ENV'], {
    filename: `${path}.bundle.js`,
  }) as (
    module: { exports: ScriptExports },
    exports: ScriptExports,
    require: unknown,
    environment: Record<string, string>,
  ) => void
  return (modules, environment) => {
    const module = { exports: {} }
    run(module, module.exports, modules, environment)
    return module.exports
  }
}
