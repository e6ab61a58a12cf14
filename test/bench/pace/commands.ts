import { spawnSync } from 'node:child_process'
import { cpuOfEnded } from '../support/processes.ts'
import { median } from '../support/statistics.ts'
import { helms } from '../../infra/support/helm.ts'
import { toolEnv } from '../../infra/support/tools.ts'

/** Rounds, of which the first is not counted. */
const ROUNDS = 21

/** A command and its medians, in seconds; the processor's is a mean, as its clock is coarse. */
export interface Timed {
  readonly name: string
  readonly wall: number
  readonly cpu: number
  /** Of its own `wall` and `cpu` to those of the first command, round by round. */
  readonly toFirst: number
}

type Command = readonly [name: string, program: string, args: readonly string[]]

/** The command behind `npm run synth`, an empty program, and Helm with the chart, if it is here. */
function commands(): readonly Command[] {
  const script = spawnSync('npm', ['pkg', 'get', 'scripts.synth'], { encoding: 'utf8' }).stdout
  const [, ...synth] = String(JSON.parse(script)).split(' ')
  return [
    ['npm run synth, without npm', process.execPath, synth],
    ['node, an empty program', process.execPath, ['-e', '0']],
    ...helms.map(({ command, version }): Command => [
      `helm ${version} template`,
      command,
      ['template', 'platform', 'dist/chart', '--kube-version', '1.34.0'],
    ]),
  ]
}

/** Times the commands in turns. */
export function timeSynth(): readonly Timed[] {
  const all = commands().map((command) => ({ command, wall: [], cpu: [] }) as Runs)
  for (let round = 0; round < ROUNDS; round++) {
    for (const { command, wall, cpu } of all) {
      const one = timeOnce(command)
      if (round === 0) continue
      wall.push(one.wall)
      cpu.push(one.cpu)
    }
  }
  const [first] = all
  return all.map(({ command: [name], wall, cpu }) => ({
    name,
    wall: median(wall),
    cpu: cpu.reduce((sum, one) => sum + one, 0) / cpu.length,
    toFirst: median(wall.map((one, round) => one / (first?.wall[round] ?? Number.NaN))),
  }))
}

interface Runs {
  readonly command: Command
  readonly wall: number[]
  readonly cpu: number[]
}

function timeOnce([name, program, args]: Command): { wall: number; cpu: number } {
  const [began, usedBefore] = [performance.now(), cpuOfEnded(process.pid)]
  const { status, stderr } = spawnSync(program, args, { env: toolEnv, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`)
  return { wall: (performance.now() - began) / 1000, cpu: cpuOfEnded(process.pid) - usedBefore }
}
