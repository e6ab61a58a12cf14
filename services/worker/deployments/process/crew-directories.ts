import { access, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { CrewOwner, WantedCrew } from '../crew-host.ts'

/** Environments that are kept for an automation, so that a rollback has none to make. */
const VENVS_KEPT = 4
/** The file of a deployment's folder that tells which process runs it. */
export const RECORD = 'process.json'

/** The folders of one start of a deployment. */
export interface CrewFolders {
  readonly root: string
  /** The files of the project. */
  readonly source: string
  /** What the crew's own programs may write to. */
  readonly home: string
  readonly temporary: string
  /** Tells which process runs it. */
  readonly record: string
  /** Deletes them. */
  release(): Promise<void>
}

/** Where crews are kept on this machine. */
export interface CrewDirectories {
  readonly venvsOf: (owner: CrewOwner) => string
  /** For downloads; what one organization's packages left there is not another one's. */
  readonly cacheOf: (owner: CrewOwner) => string
  /** Makes folders that nothing else uses, so that the end of one start disturbs no other one. */
  open(crew: Pick<WantedCrew, 'id' | 'owner'>): Promise<CrewFolders>
  /** Deletes environments of long ago. */
  tidy(owner: CrewOwner): Promise<void>
  /** Deletes everything of an automation. */
  remove(owner: CrewOwner): Promise<void>
}

/** Keeps crews below a folder that nobody else reads. */
export function createCrewDirectories(root: string): CrewDirectories {
  const homeOf = ({ deploymentId }: CrewOwner): string => join(root, `automation-${deploymentId}`)
  const venvsOf = (owner: CrewOwner): string => join(homeOf(owner), 'venvs')
  return {
    venvsOf,
    cacheOf: ({ organizationId }) => join(root, `cache-${organizationId}`),
    async open({ id, owner }) {
      await mkdir(root, { recursive: true, mode: 0o700 })
      await mkdir(homeOf(owner), { recursive: true })
      const own = await mkdtemp(join(homeOf(owner), `deployment-${id}-`))
      const below = (name: string): string => join(own, name)
      const [source, home, temporary] = [below('source'), below('home'), below('tmp')]
      for (const folder of [home, temporary]) await mkdir(folder)
      const record = below(RECORD)
      return { root: own, source, home, temporary, record, release: () => drop(own) }
    },
    async tidy(owner) {
      for (const old of (await newestFirst(venvsOf(owner))).slice(VENVS_KEPT)) await drop(old)
    },
    remove: (owner) => drop(homeOf(owner)),
  }
}

/** Lists the folders that former processes of this platform left behind. */
export async function listLeftovers(root: string): Promise<CrewFolders['root'][]> {
  const automations = (await namesIn(root)).filter((name) => name.startsWith('automation-'))
  const lists = automations.map(async (automation) => {
    const names = await namesIn(join(root, automation))
    return names
      .filter((name) => name.startsWith('deployment-'))
      .map((name) => join(root, automation, name))
  })
  return (await Promise.all(lists)).flat()
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
