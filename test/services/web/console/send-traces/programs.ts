import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SettingKey } from '../../../../../services/web/console/send-traces/settings.ts'

/** The root of this repository. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
/** What was installed once stays for the next run. */
export const CACHE = join(ROOT, 'node_modules/.cache/sdks')

/** How the packages of a program come to be, on this machine. */
export interface Toolchain {
  /** The programs that must be on the PATH. */
  readonly needs: readonly string[]
  /** What comes before the page's own commands. */
  readonly before?: string
  /** The page's commands as they are run here. @default as they are */
  readonly adapt?: (install: string) => string
}

const PYTHON: Toolchain = {
  needs: ['uv'],
  before: '[ -e .venv ] || uv venv --quiet',
  // The same words, in a tenth of the time.
  adapt: (install) => install.replace(/^pip /, 'uv pip '),
}
const NODE: Toolchain = { needs: ['npm'], before: '[ -e package.json ] || npm init --yes' }

/** How each program of the page is installed. */
export const TOOLCHAINS: Readonly<Record<SettingKey, Toolchain>> = {
  'python-openinference': PYTHON,
  'python-openllmetry': PYTHON,
  crewai: PYTHON,
  langchain: PYTHON,
  'vercel-ai': NODE,
  node: NODE,
  java: { needs: ['mvn', 'java'] },
  go: { needs: ['go'], before: 'rm -f go.mod go.sum' },
  dotnet: { needs: ['dotnet'], before: 'rm -f *.csproj Program.cs' },
  collector: { needs: ['otelcol'] },
}

/** The first program that is not on the PATH; undefined when all are. */
export const missingOf = ({ needs }: Toolchain): string | undefined =>
  needs.find((program) => spawnSync('which', [program]).status !== 0)

/** Where a program and its packages are; with the packages of this repository if asked to. */
export function folderOf(key: string, { linked }: { linked: boolean }, base = CACHE): string {
  const folder = join(base, key)
  mkdirSync(folder, { recursive: true })
  if (linked) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Writes the files of a page. */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  for (const [name, text] of files) {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${text}\n`)
  }
}

/** Runs commands in a shell, to their end. Raises an error with what they wrote if they fail. */
export async function runCommands(
  commands: string,
  { folder, env, signal }: { folder: string; env: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  const path = [join(folder, '.venv/bin'), process.env['PATH']].join(delimiter)
  const child = spawn('bash', ['-e', '-c', commands], {
    cwd: folder,
    env: { ...process.env, PATH: path, VIRTUAL_ENV: join(folder, '.venv'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what the shell started ends with it.
    detached: true,
  })
  const stop = (): void => void process.kill(-(child.pid ?? 0))
  signal.addEventListener('abort', stop, { once: true })
  let written = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (written += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  signal.removeEventListener('abort', stop)
  if (code === 0 || signal.aborted) return written
  throw new Error(`${commands}\nended with ${code}:\n${written.slice(-4000)}`)
}
