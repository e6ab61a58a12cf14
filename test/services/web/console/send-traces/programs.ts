import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SettingKey } from '../../../../../services/web/console/send-traces/settings.ts'

/** The root of this repository. */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url))
/** What was installed once stays for the next run. */
export const CACHE = join(ROOT, 'node_modules/.cache/sdks')

/** How the packages of a program come to be, on this machine. */
interface Toolchain {
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
