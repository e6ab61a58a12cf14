import { availableParallelism, loadavg } from 'node:os'
import { toTable } from '../support/statistics.ts'
import { weighBundles } from './bundles.ts'
import { timeSynth } from './commands.ts'
import { timeStarts } from './starts.ts'
import { timesOfSuite } from './suite.ts'

/** Measures the waits of the people who work on the platform, and prints them with the load. */
export async function run({ isJson }: { readonly isJson: boolean }): Promise<void> {
  const machine = { node: process.version, cores: availableParallelism() }
  const [synth, loadOfSynth] = [timeSynth(), loadavg()[0] ?? Number.NaN]
  const [starts, loadOfStarts] = [await timeStarts(), loadavg()[0] ?? Number.NaN]
  const load = { synth: loadOfSynth, starts: loadOfStarts }
  const measured = { machine, load, synth, suite: timesOfSuite(), starts, bundles: weighBundles() }
  process.stdout.write(isJson ? `${JSON.stringify(measured, null, 2)}\n` : textOf(measured))
}

interface Measured {
  readonly machine: { readonly node: string; readonly cores: number }
  readonly load: { readonly synth: number; readonly starts: number }
  readonly synth: ReturnType<typeof timeSynth>
  readonly suite: ReturnType<typeof timesOfSuite>
  readonly starts: Awaited<ReturnType<typeof timeStarts>>
  readonly bundles: ReturnType<typeof weighBundles>
}

function textOf({ machine, load, synth, suite, starts, bundles }: Measured): string {
  const tables = [
    toTable(
      ['command', 'wall s', 'processor s', 'x synth'],
      synth.map(({ name, wall, cpu, toFirst }) => [name, three(wall), three(cpu), two(toFirst)]),
    ),
    toTable(
      ['start', 'ready after s', 'processor s', 'Node MiB', 'PostgreSQL MiB'],
      starts.map((one) => [
        one.name,
        two(one.wall),
        two(one.cpu),
        one.nodeMib.toFixed(0),
        one.postgresMib.toFixed(0),
      ]),
    ),
    toTable(
      ['tests of', 'files', 'seconds', 'slowest'],
      suite.map(({ name, files, seconds, slowest }) => [name, `${files}`, two(seconds), slowest]),
    ),
    toTable(
      ['bundle', 'kB', 'compressed'],
      bundles.map((one) => [one.name, one.kilobytes.toFixed(0), one.compressed.toFixed(0)]),
    ),
  ]
  const { node, cores } = machine
  const busy = `${two(load.synth)} after synth, ${two(load.starts)} after the starts`
  return `${tables.join('\n\n')}\n\nNode ${node}, ${cores} cores. Load average: ${busy}.\n`
}

const two = (value: number): string => value.toFixed(2)
const three = (value: number): string => value.toFixed(3)
