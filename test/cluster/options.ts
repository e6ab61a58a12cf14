import { parseArgs } from 'node:util'
import { steps } from './walk/steps.ts'

const list = steps.map(({ name, sentence }) => `  ${name.padEnd(17)} ${sentence}`).join('\n')

export const HELP = `npm run test:long -- cluster [options]

Brings up a Kubernetes of one node in namespaces of its own, installs the platform on it from this
checkout, and walks through what an operator does and what may go wrong. README.md beside this
program says what is real and what is not.

  --only <a,b>   these steps alone, in their order; "none" brings the bed up and walks nothing
  --short        the few steps that continuous integration has
  --keep         leave the bed up afterwards
  --fresh        forget the cluster of the last time first; programs and images stay
  --down         take the bed down, and nothing else
  --if-warm      skip unless programs and images are built already
  --json         one JSON document on standard output instead of a table
  --help         this text

Exit code: 0 when every step passes or the bed cannot run here, which is said; 1 when a step fails;
2 for a wrong command line or a bed that does not come up.

Steps:
${list}
`

export interface Options {
  readonly steps: readonly string[]
  readonly keep: boolean
  readonly fresh: boolean
  readonly down: boolean
  readonly ifWarm: boolean
  readonly json: boolean
}

/**
 * Reads the command line; undefined when only the help is wanted. Raises for what is not
 * understood.
 */
export function readOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      short: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      fresh: { type: 'boolean', default: false },
      down: { type: 'boolean', default: false },
      'if-warm': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return undefined
  const { keep, fresh, down, json } = values
  return { keep, fresh, down, json, ifWarm: values['if-warm'], steps: chosen(values) }
}

function chosen({ only, short }: { only?: string; short: boolean }): readonly string[] {
  if (only === 'none') return []
  const all = steps.filter(({ isShort }) => !short || isShort).map(({ name }) => name)
  if (only === undefined) return all
  const names = only.split(',')
  const unknown = names.filter((name) => !steps.some((step) => step.name === name))
  if (unknown.length === 0) return names
  throw new Error(`There is no step ${unknown.join(', ')}; --help lists them.`)
}
