import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Release } from '../../../infra/render.ts'
import { chart, parseYaml } from './platform.ts'
import type { Manifest } from './platform.ts'

/** A Helm program that was found. */
export interface Helm {
  readonly command: string
  readonly version: string
}

/** Every major version of Helm on the PATH, as `helm`, `helm3` or `helm4`, or in `HELM_COMMANDS`, separated by commas. */
export const helms: readonly Helm[] = [
  ...new Map(
    ['helm', 'helm3', 'helm4', ...(process.env['HELM_COMMANDS']?.split(',') ?? [])]
      .map((command) => {
        const { status, stdout } = spawnSync(command, ['version', '--short'], { encoding: 'utf8' })
        return { command, version: status === 0 ? (/^v(\d+)/.exec(stdout)?.[0] ?? '') : '' }
      })
      .filter(({ version }) => version !== '')
      .map((helm) => [helm.version, helm] as const),
  ).values(),
]

const directory = mkdtempSync(join(tmpdir(), 'chart-'))

/** Writes the chart where Helm can read it. */
export function writeChart(): string {
  for (const [path, content] of chart.files) {
    const target = join(directory, 'platform', path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }
  return join(directory, 'platform')
}

/** The objects of `helm template`, or its refusal as an error. */
export function helmTemplate(
  { command, chartPath }: Pick<Helm, 'command'> & { readonly chartPath: string },
  values: unknown,
  release: Release,
): readonly Manifest[] {
  const file = join(directory, 'values.json')
  // Helm reads JSON as YAML, in which bare exotic line breaks would become spaces.
  writeFileSync(file, JSON.stringify(values).replaceAll(/[\u007f-\ud7ff\ue000-\uffff]/g, escape))
  const args = [
    'template',
    release.name,
    chartPath,
    '--namespace',
    release.namespace,
    '--values',
    file,
    '--skip-tests',
  ]
  const output = execFileSync(command, [...args, '--kube-version', '1.34.0'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1 << 26,
  })
  return parseYaml(output)
}

const escape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** What `helm lint` says, when it finds a fault. */
export const helmLint = ({ command }: Helm, chartPath: string): string =>
  execFileSync(command, ['lint', '--strict', chartPath], { encoding: 'utf8' })
