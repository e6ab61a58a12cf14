import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Release } from '../../../infra/render.ts'
import { isObject } from '../../../infra/template/json.ts'
import { mergeOverrides } from '../../../infra/template/merge.ts'
import { chart } from './platform.ts'
import { runTool } from './tools.ts'

/** A Helm program that was found. */
interface Helm {
  readonly command: string
  readonly version: string
}

/** Every major version of Helm that is here, as `helm`, `helm3` or `helm4`. */
export const helms: readonly Helm[] = [
  ...new Map(
    ['helm', 'helm3', 'helm4']
      .map((command) => {
        const { status, stdout } = runTool(command, ['version', '--short'])
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

/** The output of `helm template`, or its refusal as an error. */
export function helmTemplate(
  { command, chartPath }: Pick<Helm, 'command'> & { readonly chartPath: string },
  values: unknown,
  { name, namespace }: Release,
): string {
  const file = join(directory, 'values.json')
  // Helm reads JSON as YAML, in which bare exotic line breaks would become spaces.
  writeFileSync(file, JSON.stringify(values).replaceAll(/[\u007f-\ud7ff\ue000-\uffff]/g, escape))
  const options = ['--namespace', namespace, '--values', file, '--skip-tests']
  const args = ['template', name, chartPath, ...options, '--kube-version', '1.34.0']
  return outputOf(command, args).replaceAll(/^# Source: .*\n/gm, '')
}

const escape = (character: string): string =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** The output of `helm lint`, or the faults it finds as an error. */
export const helmLint = ({ command }: Helm, chartPath: string): string =>
  outputOf(command, ['lint', '--strict', chartPath])

function outputOf(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = runTool(command, args)
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr}`)
  return stdout
}

/** Values under a name. */
export interface NamedSet {
  readonly name: string
  readonly values: object
}

/** The same values in fewer sets, as far as they do not touch each other: Helm starts for each. */
export const together = (
  sets: readonly (readonly [string, object, ...unknown[]])[],
): readonly NamedSet[] =>
  sets.reduce<readonly NamedSet[]>((merged, [name, values]) => {
    const fit = merged.find((each) => areApart(each.values, values))
    if (!fit) return [...merged, { name, values }]
    const both = { name: `${fit.name}, ${name}`, values: merge(fit.values, values) }
    return merged.map((each) => (each === fit ? both : each))
  }, [])

const merge = (...values: readonly object[]): object => Object(mergeOverrides(values))

const areApart = (a: object, b: object): boolean => isDeepStrictEqual(merge(a, b), merge(b, a))

/**
 * True when a refusal says a key of values: with its dots; where it is, as a pointer or with dots;
 * or by its own members, when it is a member's name that the schema refuses.
 */
export function isNamed(refusal: string, key: string, values: object): boolean {
  const path = key.replaceAll(/\[(\d+)\]/g, '.$1').split('.')
  const parents = path.slice(0, -1)
  const places = parents.length > 0 ? [`/${parents.join('/')}`, parents.join('.')] : []
  const member = path.reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), values)
  const members = isObject(member) ? Object.keys(member).map((name) => `'${name}'`) : []
  return [key, ...places, ...members].some((text) => refusal.includes(text))
}
