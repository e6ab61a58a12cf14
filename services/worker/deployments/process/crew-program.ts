import { delimiter, dirname } from 'node:path'
import { createCrewEnvironment } from '../crew-environment.ts'
import type { CrewEnvironmentDeps } from '../crew-environment.ts'
import type { CrewProgress, WantedCrew } from '../crew-host.ts'
import { mask } from '../crew-log-writer.ts'
import type { CrewFolders } from './crew-directories.ts'
import type { CrewProgram, Start } from './crew-process.ts'
import { endProcessesBelow } from './orphans.ts'
import { describeEnd } from './run-program.ts'
import { createServer } from 'node:net'

/** For crews whose automation names no limit. */
const DEFAULT_MEMORY = '2Gi'
const QUANTITY = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)?$/
const UNIT_BYTES = new Map([
  ['k', 1000],
  ['M', 1000 ** 2],
  ['G', 1000 ** 3],
  ['T', 1000 ** 4],
  ['Ki', 1024],
  ['Mi', 1024 ** 2],
  ['Gi', 1024 ** 3],
  ['Ti', 1024 ** 4],
])

/** The most memory of a crew. */
interface MemoryLimit {
  /** As it was set, such as `2Gi`. */
  readonly text: string
  readonly bytes: number
}

const HOST = '127.0.0.1'
const SYSTEM_PATH = ['/usr/local/bin', '/usr/bin', '/bin']

/** Where a crew lies, and what it runs with. */
interface Place {
  readonly folders: CrewFolders
  /** The Python of its environment. */
  readonly python: string
  readonly progress: CrewProgress
}

interface ReadyProgram extends CrewProgram {
  readonly memory: MemoryLimit
  /** Takes the secrets of the platform out of a text. */
  readonly hide: (text: string) => string
}

/** Returns the program of a crew; or why it cannot be started. */
export async function readyProgram(
  deps: CrewEnvironmentDeps,
  crew: WantedCrew,
  { folders, python, progress }: Place,
): Promise<ReadyProgram | { readonly failure: string }> {
  const memory = readMemoryLimit(crew.settings.memoryLimit)
  if (!memory) {
    const given = JSON.stringify(crew.settings.memoryLimit)
    return { failure: `Its memory limit, ${given}, is no quantity such as 512Mi. Correct it.` }
  }
  const { variables, secrets } = await createCrewEnvironment(deps, crew)
  const port = await findFreePort(HOST, crew.url === null ? 0 : Number(new URL(crew.url).port))
  const hide = (text: string): string => mask(text, secrets)
  return {
    file: python,
    args: ['-m', 'crew_runtime', '--project', folders.source],
    directory: folders.source,
    memoryBytes: memory.bytes,
    memory,
    hide,
    url: `http://${HOST}:${port}`,
    record: folders.record,
    endRest: () => endProcessesBelow(folders.root),
    release: () => folders.release(),
    onLines: (lines) => progress.log('crew', hide(lines)),
    env: {
      LANG: 'C.UTF-8',
      ...variables,
      PATH: [dirname(python), ...SYSTEM_PATH].join(delimiter),
      VIRTUAL_ENV: dirname(dirname(python)),
      PYTHONUNBUFFERED: '1',
      HOME: folders.home,
      TMPDIR: folders.temporary,
      HOST,
      PORT: String(port),
    },
  }
}

/** Why a crew did not start, and what to do. */
export function describeStart(
  start: Exclude<Start, { readonly outcome: 'healthy' }>,
  { memory, hide, startMs }: Pick<ReadyProgram, 'memory' | 'hide'> & { readonly startMs: number },
): { readonly reason: string; readonly lastLines: string } {
  const lastLines = hide(start.lastLines)
  if (start.outcome === 'late') {
    const reason =
      `It took no runs within ${startMs / 1000} s of its start. ${start.reason} See that it ` +
      'imports without waiting for anything and leaves the port to the platform, and deploy again.'
    return { reason, lastLines }
  }
  const { end } = start
  const isStarved = end.signal === 'SIGKILL' || /MemoryError|Cannot allocate/.test(lastLines)
  const advice = isStarved
    ? `It may use at most ${memory.text} of memory: raise the limit in the settings of the ` +
      'automation, or let it need less, and deploy again.'
    : 'The last lines say why. Correct the project, and deploy again.'
  return { reason: `It ${describeEnd(end)} before it took a run. ${advice}`, lastLines }
}

/** Finds a port of this machine that nobody listens on: the wanted one, if it is free. */
async function findFreePort(host: string, wanted = 0): Promise<number> {
  const port = await tryPort(host, wanted)
  if (port === undefined && wanted !== 0) return findFreePort(host)
  if (port === undefined) throw new Error(`No port of ${host} is free.`)
  return port
}

function tryPort(host: string, wanted: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(wanted, host, () => {
      const address = server.address()
      const port = typeof address === 'object' ? address?.port : undefined
      server.close(() => resolve(port))
    })
  })
}

/** Reads a quantity of Kubernetes; undefined when it is none. */
function readMemoryLimit(quantity: string | null): MemoryLimit | undefined {
  const text = quantity ?? DEFAULT_MEMORY
  const [, number, unit = ''] = QUANTITY.exec(text) ?? []
  if (number === undefined) return undefined
  return { text, bytes: Math.floor(Number(number) * (UNIT_BYTES.get(unit) ?? 1)) }
}
