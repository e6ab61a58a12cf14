import { createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { signToolsReadToken } from '../../../shared/tools-read-token.ts'
import { createWaitingLine } from '../../../shared/waiting-line.ts'
import { AppError } from '../../../shared/errors.ts'
import { readTar } from '../../../shared/tar/read-tar.ts'
import type { TarEntry } from '../../../shared/tar/read-tar.ts'
import type { CrewProgress, WantedCrew } from '../crew-host.ts'
import { mask } from '../crew-log-writer.ts'
import { buildVenv } from './build-venv.ts'
import type { BuiltVenv } from './build-venv.ts'
import type { CrewDirectories, CrewFolders } from './crew-directories.ts'
import { findPythonTools, noPython } from './find-python.ts'
import { publicIndexOf } from './tools-index.ts'

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

const FILES_MAX = 20_000
const BYTES_MAX = 256 * 1024 * 1024

interface Unpacking {
  /** A .tar.gz. */
  readonly archive: AsyncIterable<Uint8Array>
  /** The folder to make. */
  readonly to: string
  readonly signal: AbortSignal
}

/**
 * Unpacks a source. It was checked when it was stored, and is not trusted for that. Raises
 * `unprocessable` for what should not be in it.
 */
export async function unpackSource({ archive, to, signal }: Unpacking): Promise<void> {
  await mkdir(to)
  const unpacked = createGunzip()
  // What goes wrong there ends the reading below as well. Behind the end of a tar archive there may
  // be more, which nobody reads: that is not wrong.
  pipeline(Readable.from(archive), unpacked, { signal }).catch(() => {})
  try {
    let [files, bytes] = [0, 0]
    for await (const entry of readTar(unpacked)) {
      files += 1
      bytes += entry.size
      if (files > FILES_MAX || bytes > BYTES_MAX) throw refused('it is too large')
      await unpack(entry, to)
    }
  } finally {
    unpacked.destroy()
  }
}

async function unpack({ path, kind, mode, content }: TarEntry, folder: string): Promise<void> {
  const parts = path
    .toString('utf8')
    .split('/')
    .filter((part) => part !== '' && part !== '.')
  if (path[0] === SLASH || parts.includes('..')) throw refused('it has a path that leads out of it')
  const target = join(folder, ...parts)
  if (kind === 'folder') return void (await mkdir(target, { recursive: true }))
  if (kind !== 'file' || parts.length === 0) throw refused(`it has a ${kind}`)
  await mkdir(dirname(target), { recursive: true })
  const permissions = (mode & 0o100) === 0 ? 0o644 : 0o755
  await pipeline(content(), createWriteStream(target, { flags: 'wx', mode: permissions }))
}

const SLASH = 0x2f

const refused = (why: string): AppError =>
  new AppError('unprocessable', `The archive of the source is not unpacked: ${why}.`)
