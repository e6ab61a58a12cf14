import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { runStep } from './run-step.ts'

const ASK_MS = 30_000
/** The adapter needs it. */
const OLDEST = '3.10'

/** What makes the environments of crews: uv, or Python's own venv and pip. */
export type PythonTools =
  | { readonly kind: 'uv'; readonly uv: string }
  | { readonly kind: 'venv'; readonly python: string }

interface PythonSearch {
  /** The variables that programs of this machine need, among them PATH. */
  readonly machine: Readonly<Record<string, string>>
  readonly directory: string
  readonly signal: AbortSignal
}

/**
 * Finds uv, or else a Python of the wanted version that can make environments; undefined when
 * neither is there.
 */
export async function findPythonTools(
  search: PythonSearch,
  wanted: string | null,
): Promise<PythonTools | undefined> {
  for (const uv of await findOnPath(search, 'uv')) {
    if (await works(search, uv, ['--version'])) return { kind: 'uv', uv }
  }
  const check = `import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))`
  for (const python of await findOnPath(search, `python${wanted ?? '3'}`)) {
    if (await works(search, python, ['-c', check])) return { kind: 'venv', python }
  }
  return undefined
}

/** What to do where there is no Python. */
export const noPython = (wanted: string | null): string =>
  `This machine has neither uv nor Python ${wanted ?? `${OLDEST} or newer`} with its modules ` +
  'venv and ensurepip, and so cannot run crews. Install uv (https://docs.astral.sh/uv/), ' +
  'see that it is on the PATH, and deploy again.'

async function findOnPath({ machine }: PythonSearch, name: string): Promise<string[]> {
  const found: string[] = []
  for (const directory of (machine['PATH'] ?? '').split(delimiter).slice(0, 100)) {
    if (!isAbsolute(directory)) continue
    const file = join(directory, name)
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) found.push(file)
  }
  return found
}

/** Some programs on a PATH are only there to say that they are not installed. */
async function works(
  { machine, directory, signal }: PythonSearch,
  file: string,
  args: readonly string[],
): Promise<boolean> {
  const asked = { name: file, file, args, directory, env: machine, onLines: () => {} }
  const { ok } = await runStep({ ...asked, timeoutMs: ASK_MS, signal })
  return ok
}
