import { createRandom } from '../../../services/platform/evaluations/statistics.ts'
import { compareSides } from '../../../services/platform/projects/compare-sides.ts'
import type { Drawn } from '../../../services/platform/projects/compare-sides.ts'
import { toTable } from '../support/statistics.ts'

const RELEASES = 100
const RUNS = 2000
/** Of a rule of 1 % with three measures. */
const ERROR = 0.01 / 3
const MARGIN = 0.05

interface World {
  readonly share: number
  readonly before: number
  readonly after: number
  /** The share of failures of both while a provider is down: a run in five. */
  readonly outage?: number
}

const WORLDS: readonly World[] = [
  { share: 0.1, before: 0.02, after: 0.02 },
  { share: 0.1, before: 0.2, after: 0.2 },
  { share: 0.5, before: 0.2, after: 0.2 },
  { share: 0.1, before: 0.02, after: 0.02, outage: 0.9 },
  { share: 0.1, before: 0.1, after: 0.15 },
  { share: 0.1, before: 0.02, after: 0.15 },
  { share: 0.1, before: 0.02, after: 0.3 },
  { share: 0.1, before: 0.02, after: 0.5 },
  { share: 0.1, before: 0.02, after: 1 },
  { share: 0.01, before: 0.02, after: 0.5 },
  { share: 0.5, before: 0.02, after: 0.15 },
  { share: 0.5, before: 0.02, after: 0.5 },
]

function draw({ share, before, after, outage }: World, seed: number): Drawn[] {
  const random = createRandom(seed)
  return Array.from({ length: RUNS }, (_, index) => {
    const isNew = random() < share
    const isDown = outage !== undefined && index % 500 >= 400
    const failures = isDown ? outage : isNew ? after : before
    return { isNew, probability: share, value: Number(random() < failures) }
  })
}

/** Returns the run after which a look takes the version back; undefined: none does. */
function decision(runs: readonly Drawn[]): number | undefined {
  const isTaken = (length: number): boolean =>
    compareSides(runs.slice(0, length), { error: ERROR, prior: 0 }).low > MARGIN
  let [low, high] = [1, 32]
  for (; high < RUNS && !isTaken(high); high = Math.min(RUNS, 2 * high)) low = high
  if (high === RUNS && !isTaken(RUNS)) return undefined
  while (low < high) {
    const middle = (low + high) >> 1
    if (isTaken(middle)) high = middle
    else low = middle + 1
  }
  return low
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`

function simulate(world: World): string[] {
  const found = Array.from({ length: RELEASES }, (_, seed) => {
    const runs = draw(world, seed + 1)
    const at = decision(runs)
    return at === undefined
      ? []
      : [[at, runs.slice(0, at).filter(({ isNew }) => isNew).length] as const]
  }).flat()
  const median = (side: 0 | 1): string =>
    String(found.map((each) => each[side]).toSorted((a, b) => a - b)[found.length >> 1] ?? '-')
  const outage = world.outage === undefined ? '' : `, ${percent(world.outage)} in outages`
  return [
    percent(world.share),
    percent(world.before),
    percent(world.after) + outage,
    percent(found.length / RELEASES),
    median(0),
    median(1),
  ]
}

/** Takes versions back by simulation: how often, and after how many runs. */
export function run(): void {
  const head = ['share', 'fails before', 'fails now', 'taken back', 'after runs', 'of the new one']
  console.log(toTable(head, WORLDS.map(simulate)))
  const runs = draw({ share: 0.1, before: 0.1, after: 0.1 }, 1)
  const long = Array.from({ length: 5 }, () => runs).flat()
  const began = performance.now()
  compareSides(long, { error: ERROR, prior: 0 })
  console.log(`A look at ${long.length} runs: ${(performance.now() - began).toFixed(0)} ms`)
}
