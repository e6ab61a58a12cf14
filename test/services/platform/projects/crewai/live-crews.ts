import { spawn, spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { readCorpus } from './corpus.ts'

/** The version that results are recorded of. */
export const CREWAI_VERSION = '1.15.30'

const PROGRAM = new URL('run_crews.py', import.meta.url).pathname
/** The Python that has CrewAI; uv gets one when it is not set. */
const own = process.env['CREWAI_PYTHON']
const WITH = ['--no-project', '--python', '>=3.10,<3.14', '--with', `crewai==${CREWAI_VERSION}`]
const COMMAND = own === undefined ? ['uv', 'run', '-q', ...WITH, 'python'] : [own]

/** Why CrewAI is not run, if it is not. */
export function whyNotLive(): string | undefined {
  if (!['live', 'record'].includes(process.env['CREWAI'] ?? '')) return 'CREWAI is not live'
  const [program = ''] = COMMAND
  return spawnSync(program, ['--version']).error ? `${program} is not on the PATH` : undefined
}

interface LiveRun {
  readonly project: string
  readonly baseUrl: string
  readonly mcpUrl: string
  readonly inputs: Readonly<Record<string, unknown>>
}

interface LiveAnswer {
  readonly output?: string
  readonly files?: Readonly<Record<string, string>>
  readonly error?: string
}

/** Starts CrewAI, which runs one project after the other. */
export async function startCrewAi() {
  const home = await mkdtemp(join(tmpdir(), 'crewai-'))
  const [program = '', ...args] = COMMAND
  const env = { ...process.env, HOME: own === undefined ? process.env['HOME'] : home }
  const child = spawn(program, [...args, PROGRAM], {
    cwd: home,
    env: { ...env, CREWAI_STORAGE_DIR: home, XDG_DATA_HOME: home },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let trouble = ''
  child.stderr.on('data', (chunk: Buffer) => (trouble = (trouble + chunk.toString()).slice(-4000)))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async run({ project, baseUrl, mcpUrl, inputs }: LiveRun): Promise<LiveAnswer> {
      const directory = join(home, project)
      for (const [path, content] of readCorpus(project, mcpUrl)) {
        await mkdir(dirname(join(directory, path)), { recursive: true })
        await writeFile(join(directory, path), content)
      }
      const asked = { project, directory, base_url: baseUrl, inputs }
      child.stdin.write(`${JSON.stringify(asked)}\n`)
      const { value, done } = await lines.next()
      if (done === true) throw new Error(`CrewAI ended: ${trouble}`)
      return JSON.parse(String(value))
    },
    stop: () => child.stdin.end(),
  }
}
