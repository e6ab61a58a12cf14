import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }
import { localPlatformPath, programPath } from './program.ts'

/** The bundle of a program of the services, which starts in a fraction of the time. */
const bundled = (file: string): string => {
  const [, service] = /^services\/(\w+)\/main\.ts$/.exec(file) ?? []
  return service === undefined ? localPlatformPath() : programPath(service)
}

/** What a script of package.json runs, with the bundles of the run; empty where there is none. */
export function bundledScript(name: string): string {
  const script = Object.entries(packageJson.scripts).find(([key]) => key === name)?.[1] ?? ''
  return script.replace(/services\/run\.mjs (services\/\S+)/, (_, file: string) => bundled(file))
}

/**
 * Writes an `npm` into a new directory of a directory, and returns it for the PATH: it knows
 * `npm run [--silent] SCRIPT [-- ARGUMENTS]`, and starts bundles where npm would compile sources.
 */
export async function quickNpm(directory: string): Promise<string> {
  const bin = join(directory, 'bin')
  await mkdir(bin, { recursive: true })
  const cases = Object.keys(packageJson.scripts).map(
    (name) => `${name}) ${bundledScript(name)} "$@" ;;`,
  )
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const program = join(bin, 'npm')
  await writeFile(program, PROGRAM.replace('ROOT', root).replace('CASES', cases.join('\n')))
  await chmod(program, 0o755)
  return bin
}

const PROGRAM = `#!/bin/sh
cd 'ROOT'
test "$1" = run && shift
test "$1" = --silent && shift
script=$1
shift
test "$1" = -- && shift
case $script in
CASES
*) echo "npm: no script $script" >&2; exit 1 ;;
esac
`
