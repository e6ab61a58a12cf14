import { signToolsReadToken } from '../../../shared/tools-read-token.ts'
import { createWaitingLine } from '../../../shared/waiting-line.ts'
import type { CrewProgress, WantedCrew } from '../crew-host.ts'
import { mask } from '../crew-log-writer.ts'
import { buildVenv } from './build-venv.ts'
import type { BuiltVenv } from './build-venv.ts'
import type { CrewDirectories, CrewFolders } from './crew-directories.ts'
import { findPythonTools, noPython } from './find-python.ts'
import { publicIndexOf } from './tools-index.ts'
import { unpackSource } from './unpack-source.ts'

/** The time that an environment may take to be made, with all downloads. */
const BUILD_MS = 15 * 60_000
/** They take all of a machine's cores, and of its network. */
const BUILDS = 2
const WAITING_MAX = 1000

/** What crews are built with. */
export interface BuildDeps {
  readonly secretKeyBase: string
  /** Where the tools index is: the address of web. */
  readonly toolsUrl: string
  readonly platformVersion: string
  /** The variables that programs of this machine need: where programs and certificates are. */
  readonly machine: Readonly<Record<string, string>>
}

interface Building {
  readonly directories: CrewDirectories
  readonly folders: CrewFolders
  readonly progress: CrewProgress
  readonly signal: AbortSignal
}

/** Waits for a place, and builds then. */
export type BuildLine = <Result>(build: () => Promise<Result>) => Promise<Result>

/** Lets a few builds go on at a time. */
export function createBuildLine(): BuildLine {
  const busy = 'Too many crews are being built. This one is tried again soon.'
  const line = createWaitingLine({ concurrent: BUILDS, waitingMax: WAITING_MAX, busy })
  return async (build) => {
    await line.enter()
    try {
      return await build()
    } finally {
      line.leave()
    }
  }
}

/** Unpacks the source of a crew and makes its environment. */
export async function buildCrew(
  deps: BuildDeps,
  crew: WantedCrew,
  { directories, folders, progress, signal }: Building,
): Promise<BuiltVenv> {
  const { machine, secretKeyBase, toolsUrl, platformVersion } = deps
  const { owner, source, settings } = crew
  const { pythonVersion } = settings
  const search = { machine, directory: folders.root, signal }
  const tools = await findPythonTools(search, pythonVersion)
  if (!tools) return { failure: noPython(pythonVersion), lastLines: '' }
  await unpackSource({ archive: source.read(), to: folders.source, signal })
  const token = signToolsReadToken(secretKeyBase, owner.organizationId)
  const url = `${toolsUrl.replace(/\/+$/, '')}/tools/organization/simple/`
  const hide = (text: string): string => mask(text, [token])
  const built = await buildVenv({
    tools,
    project: folders.source,
    venvs: directories.venvsOf(owner),
    cache: directories.cacheOf(owner),
    pythonVersion,
    indexes: { organization: { url, token }, publicUrl: publicIndexOf(machine) },
    platformVersion,
    // What is built may run code of its own: nothing of this machine's user is near.
    env: { ...machine, HOME: folders.home, TMPDIR: folders.temporary },
    timeoutMs: BUILD_MS,
    signal,
    onLines: (lines) => progress.log('build', hide(lines)),
  })
  return 'failure' in built ? { ...built, lastLines: hide(built.lastLines) } : built
}
