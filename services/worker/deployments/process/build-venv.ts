import { createHash } from 'node:crypto'
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CHECK_SOURCES } from '../check-sources.ts'
import { fileExists } from './crew-directories.ts'
import { startFirstIndex } from './first-index.ts'
import type { PythonTools } from './find-python.ts'
import { runStep } from './run-step.ts'
import type { StepEnd } from './run-step.ts'
import { ADAPTER, addressWithToken } from './tools-index.ts'
import type { PackageIndexes } from './tools-index.ts'

/** The files that say what a project needs; another content needs another environment. */
const PROJECT_FILES = ['uv.lock', 'pyproject.toml', 'requirements.txt', '.python-version']
/** Written last: an environment without it was not finished. */
const READY = '.ready'

interface VenvBuild {
  readonly tools: PythonTools
  /** The folder of the project. */
  readonly project: string
  /** The folder that has the environments of one automation. */
  readonly venvs: string
  /** For what uv downloads; one organization's. */
  readonly cache: string
  readonly pythonVersion: string | null
  readonly indexes: PackageIndexes
  /** The adapter changes with it. */
  readonly platformVersion: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly onLines: (lines: string) => void
}

/** The Python of an environment, or why there is none. */
export type BuiltVenv =
  | { readonly python: string }
  | { readonly failure: string; readonly lastLines: string }

/** Builds the environment of a project, or finds the one that the same files led to before. */
export async function buildVenv(build: VenvBuild): Promise<BuiltVenv> {
  const { venvs, onLines } = build
  const directory = join(venvs, await keyOf(build))
  const python = join(directory, 'bin', 'python')
  if (await fileExists(join(directory, READY))) {
    // The ones that were used last are kept.
    await utimes(directory, new Date(), new Date())
    onLines('The environment of an earlier deployment is used: its dependencies are the same.\n')
    return { python }
  }
  await rm(directory, { recursive: true, force: true })
  await mkdir(venvs, { recursive: true })
  const failed = await (build.tools.kind === 'uv' ? withUv : withPip)(build, { directory, python })
  if (failed) return failed
  await writeFile(join(directory, READY), '')
  return { python }
}

async function keyOf({ project, pythonVersion, platformVersion, tools }: VenvBuild) {
  const hash = createHash('sha256')
  hash.update(JSON.stringify([tools.kind, pythonVersion, platformVersion]))
  for (const name of PROJECT_FILES) {
    const content = await readFile(join(project, name)).catch(() => Buffer.alloc(0))
    hash.update(`\n${name} ${content.length}\n`).update(content)
  }
  return hash.digest('hex').slice(0, 32)
}

interface Venv {
  readonly directory: string
  readonly python: string
}

type Failed = { readonly failure: string; readonly lastLines: string } | undefined

const CHECK_DEPENDENCIES =
  'Correct its dependencies, see that each is on the tools index of the organization or on the ' +
  'public index, and deploy again.'

const DEPENDENCIES = 'The installation of its dependencies'

/** Does one step after the other until one fails, all within the time of the build. */
function createSteps(build: VenvBuild, tool: Pick<Step, 'file' | 'env'>) {
  const { project, signal, onLines, timeoutMs } = build
  const until = performance.now() + timeoutMs
  return async (name: string, args: readonly string[], advice: string): Promise<Failed> => {
    onLines(`${name} …\n`)
    const end: StepEnd = await runStep({
      ...tool,
      name,
      args,
      directory: project,
      signal,
      onLines,
      timeoutMs: Math.max(1000, until - performance.now()),
    })
    return end.ok ? undefined : { failure: `${end.failure} ${advice}`, lastLines: end.lastLines }
  }
}

interface Step {
  readonly file: string
  readonly env: Readonly<Record<string, string>>
}

async function withUv(build: VenvBuild, { directory, python }: Venv): Promise<Failed> {
  const { tools, project, cache, pythonVersion, indexes, env } = build
  if (tools.kind !== 'uv') return undefined
  const own = addressWithToken(indexes)
  const common = { ...env, UV_CACHE_DIR: cache, UV_NO_PROGRESS: '1', UV_LINK_MODE: 'copy' }
  const step = createSteps(build, {
    file: tools.uv,
    env: {
      ...common,
      UV_INDEX: own,
      UV_DEFAULT_INDEX: indexes.publicUrl,
      UV_INDEX_STRATEGY: 'first-index',
    },
  })
  const version = pythonVersion === null ? [] : ['--python', pythonVersion]
  const make = ['venv', '--quiet', ...version, directory]
  const noVenv = 'Choose another version of Python in the settings, and deploy again.'
  const failed = await step('Looking for Python', make, noVenv)
  if (failed) return failed
  const wrong = await checkSources(build, python)
  if (wrong) return wrong
  const needs = await needsOf(project)
  const locked = join(directory, 'locked.txt')
  if (needs === 'uv.lock') {
    const args = ['export', '--quiet', '--frozen', '--no-dev', '--no-emit-project', '--no-editable']
    const advice = 'Run uv lock, and deploy again.'
    const unread = await step('The reading of uv.lock', [...args, '--output-file', locked], advice)
    if (unread) return unread
  }
  if (needs !== undefined) {
    const from = needs === 'uv.lock' ? locked : needs
    const args = ['pip', 'install', '--python', python, '--requirements', from]
    const missing = await step(DEPENDENCIES, args, CHECK_DEPENDENCIES)
    if (missing) return missing
  }
  // From the platform alone: a package of that name elsewhere is somebody else's.
  const adapt = createSteps(build, { file: tools.uv, env: { ...common, UV_DEFAULT_INDEX: own } })
  const args = ['pip', 'install', '--python', python, '--no-config', '--no-deps', ADAPTER]
  return adapt(`The installation of ${ADAPTER}`, args, NO_ADAPTER)
}

/** A file that is not Python is found before its packages are installed. */
const checkSources = (build: VenvBuild, python: string): Promise<Failed> =>
  createSteps(build, { file: python, env: build.env })(
    'The check of its sources',
    ['-I', '-W', 'ignore', '-c', CHECK_SOURCES],
    'The last line says why.',
  )

const NO_ADAPTER =
  'It comes from the public tools index of the platform, which an administrator fills with the ' +
  'task tools:install_public_repository.'

async function needsOf(project: string): Promise<string | undefined> {
  const files = ['uv.lock', 'pyproject.toml', 'requirements.txt']
  for (const file of files) if (await fileExists(join(project, file))) return file
  return undefined
}

/** Lists the dependencies of a pyproject.toml; pip would install the project as well. */
const READ_DEPENDENCIES = `
try:
    import tomllib
except ImportError:
    from pip._vendor import tomli as tomllib
import sys
with open('pyproject.toml', 'rb') as file:
    project = tomllib.load(file).get('project', {})
with open(sys.argv[1], 'w') as file:
    file.writelines(line + '\\n' for line in project.get('dependencies', []))
`

/** Calls pip for an environment. */
interface Pip extends Step {
  readonly args: readonly string[]
}

/**
 * Finds the machine's own pip, which installs from outside since version 22.3: to put another one
 * into the environment takes longer than all else that is done for it. Undefined without one.
 */
async function findOutsidePip(build: VenvBuild, { python }: Venv): Promise<Pip | undefined> {
  const { tools, env, project: directory, signal, timeoutMs } = build
  if (tools.kind !== 'venv') return undefined
  const pip = { file: tools.python, env, args: ['-m', 'pip', '--python', python] }
  const args = [...pip.args, '--version']
  const asked = { ...pip, name: 'pip', args, directory, signal, timeoutMs, onLines: () => {} }
  const { ok } = await runStep(asked)
  return ok ? pip : undefined
}

async function withPip(build: VenvBuild, venv: Venv): Promise<Failed> {
  const { tools, indexes, env } = build
  if (tools.kind !== 'venv') return undefined
  const advice = 'Install uv on this machine, and deploy again.'
  const make = ['-m', 'venv', '--without-pip', venv.directory]
  const step = createSteps(build, { file: tools.python, env })
  const failed = await step('The making of its environment', make, advice)
  if (failed) return failed
  const wrong = await checkSources(build, venv.python)
  if (wrong) return wrong
  const outside = await findOutsidePip(build, venv)
  const pip = outside ?? { file: venv.python, env, args: ['-m', 'pip'] }
  if (!outside) {
    const add = createSteps(build, { file: venv.python, env })
    const ensure = ['-I', '-m', 'ensurepip', '--upgrade']
    const missing = await add('The making of its pip', ensure, advice)
    if (missing) return missing
  }
  const index = await startFirstIndex(indexes)
  try {
    return await installWithPip(build, venv, { ...pip, env: { ...env, ...pipEnv(index.url) } })
  } finally {
    await index.stop()
  }
}

const pipEnv = (indexUrl: string): Readonly<Record<string, string>> => ({
  PIP_INDEX_URL: indexUrl,
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_INPUT: '1',
  PIP_DISABLE_PIP_VERSION_CHECK: '1',
  PIP_PROGRESS_BAR: 'off',
})

async function installWithPip(build: VenvBuild, { directory }: Venv, pip: Pip): Promise<Failed> {
  const step = createSteps(build, pip)
  const needs = await needsOf(build.project)
  const listed = join(directory, 'dependencies.txt')
  if (needs !== undefined && needs !== 'requirements.txt') {
    // With the Python that has pip, whose parser older ones need.
    const args = ['-c', READ_DEPENDENCIES, listed]
    const unread = await step(
      'The reading of pyproject.toml',
      args,
      'Correct it, and deploy again.',
    )
    if (unread) return unread
  }
  if (needs !== undefined) {
    const from = needs === 'requirements.txt' ? needs : listed
    const args = [...pip.args, 'install', '--requirement', from]
    const missing = await step(DEPENDENCIES, args, CHECK_DEPENDENCIES)
    if (missing) return missing
  }
  const args = [...pip.args, 'install', '--no-deps', ADAPTER]
  return step(`The installation of ${ADAPTER}`, args, NO_ADAPTER)
}
