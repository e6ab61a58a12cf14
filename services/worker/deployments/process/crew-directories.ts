import { access, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CrewOwner, WantedCrew } from '../crew-host.ts'

/** Environments that are kept for an automation, so that a rollback has none to make. */
const VENVS_KEPT = 4

/** The folders of one deployment. */
export interface CrewFolders {
  readonly root: string
  /** The files of the project. */
  readonly source: string
  /** What the crew's own programs may write to. */
  readonly home: string
  readonly temporary: string
  /** Tells which process runs it. */
  readonly record: string
}

/** Where crews are kept on this machine. */
export interface CrewDirectories {
  readonly root: string
  readonly foldersOf: (crew: Pick<WantedCrew, 'id' | 'owner'>) => CrewFolders
  readonly venvsOf: (owner: CrewOwner) => string
  /** For downloads; what one organization's packages left there is not another one's. */
  readonly cacheOf: (owner: CrewOwner) => string
  /** Makes the folders of a deployment. */
  open(crew: WantedCrew): Promise<CrewFolders>
  /** Deletes the folders of an automation's other deployments, and environments of long ago. */
  tidy(owner: CrewOwner, ids: readonly number[]): Promise<void>
  /** Deletes everything of an automation. */
  remove(owner: CrewOwner): Promise<void>
}

/** Keeps crews below a folder that nobody else reads. */
export function createCrewDirectories(root: string): CrewDirectories {
  const homeOf = ({ deploymentId }: CrewOwner): string => join(root, `automation-${deploymentId}`)
  const venvsOf = (owner: CrewOwner): string => join(homeOf(owner), 'venvs')
  function foldersOf({ id, owner }: Pick<WantedCrew, 'id' | 'owner'>): CrewFolders {
    const own = join(homeOf(owner), `deployment-${id}`)
    const below = (name: string): string => join(own, name)
    const [source, home] = [below('source'), below('home')]
    return { root: own, source, home, temporary: below('tmp'), record: below('process.json') }
  }
  return {
    root,
    foldersOf,
    venvsOf,
    cacheOf: ({ organizationId }) => join(root, `cache-${organizationId}`),
    async open(crew) {
      await mkdir(root, { recursive: true, mode: 0o700 })
      const folders = foldersOf(crew)
      for (const folder of [folders.home, folders.temporary])
        await mkdir(folder, { recursive: true })
      return folders
    },
    async tidy(owner, ids) {
      const kept = new Set(ids.map((id) => `deployment-${id}`))
      for (const name of await namesIn(homeOf(owner))) {
        if (name.startsWith('deployment-') && !kept.has(name)) await drop(join(homeOf(owner), name))
      }
      for (const old of (await newestFirst(venvsOf(owner))).slice(VENVS_KEPT)) await drop(old)
    },
    remove: (owner) => drop(homeOf(owner)),
  }
}

const drop = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 3 })

const namesIn = (directory: string): Promise<string[]> => readdir(directory).catch(() => [])

async function newestFirst(directory: string): Promise<string[]> {
  const paths = (await namesIn(directory)).map((name) => join(directory, name))
  const aged = await Promise.all(
    paths.map(async (path) => ({ path, at: (await stat(path)).mtimeMs })),
  )
  return aged.toSorted((a, b) => b.at - a.at).map(({ path }) => path)
}

/** Tells whether a file is there. */
export const fileExists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
