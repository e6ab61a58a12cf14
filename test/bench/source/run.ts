import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openBuildah, whyNoBuildah } from '../../support/buildah.ts'
import { median, toTable } from '../support/statistics.ts'
import { deployImage, deploySlim, forgetBuilds } from './containers.ts'
import type { Dockerfile, Surroundings } from './containers.ts'
import { startPlatform } from './platform.ts'
import { NEEDS, project } from './project.ts'

const ROUNDS = '3'
type Needs = keyof typeof NEEDS

/** Takes the times of what is done under a name. */
function createStopwatch() {
  const seconds = new Map<string, number[]>()
  return {
    seconds,
    time: async (what: string, act: () => Promise<void>): Promise<void> => {
      const startedMs = performance.now()
      await act()
      const took = (performance.now() - startedMs) / 1000
      seconds.set(what, [...(seconds.get(what) ?? []), took])
      process.stderr.write(`${what}: ${took.toFixed(1)} s\n`)
    },
  }
}

type Time = ReturnType<typeof createStopwatch>['time']
type Platform = Awaited<ReturnType<typeof startPlatform>>

async function asProcesses(time: Time, platform: Platform, needs: Needs): Promise<void> {
  const automation = await platform.create('One')
  await time('process, cold', () => platform.deploy(automation, project(needs, 1)))
  const other = await platform.create('Other')
  await time('process, packages cached', () => platform.deploy(other, project(needs, 1)))
  await time('process, code changed', () => platform.deploy(automation, project(needs, 2)))
}

async function asContainers(time: Time, around: Surroundings, needs: Needs): Promise<void> {
  const cache = join(around.buildah.directory, 'uv-cache')
  await rm(cache, { recursive: true, force: true })
  await time('slim, cold', () => deploySlim(around, project(needs, 1), cache))
  await time('slim, packages cached', () => deploySlim(around, project(needs, 2), cache))
  for (const dockerfile of ['generated', 'plain'] satisfies Dockerfile[]) {
    const deploy = (version: number) => deployImage(around, project(needs, version), dockerfile)
    await forgetBuilds(around)
    await time(`image, ${dockerfile} Dockerfile, cold`, () => deploy(1))
    await time(`image, ${dockerfile} Dockerfile, code changed`, () => deploy(2))
  }
}

/** Measures the time from a source to a crew that is online, in each way that runs here. */
export async function run(word = 'plain', rounds = ROUNDS): Promise<void> {
  if (!Object.hasOwn(NEEDS, word))
    throw new Error(`Which project: ${Object.keys(NEEDS).join(', ')}?`)
  const needs: Needs = word === 'crewai' ? 'crewai' : 'plain'
  const whyNot = whyNoBuildah()
  if (whyNot !== undefined) process.stderr.write(`Processes only: ${whyNot}.\n`)
  const { seconds, time } = createStopwatch()
  const buildah = whyNot === undefined ? await openBuildah() : undefined
  try {
    for (let round = 0; round < Number(rounds); round += 1) {
      const platform = await startPlatform()
      try {
        await asProcesses(time, platform, needs)
        if (buildah) await asContainers(time, { buildah, index: platform.index }, needs)
      } finally {
        await platform.stop()
      }
    }
  } finally {
    await buildah?.close()
  }
  const rows = [...seconds].map(([what, all]) => [
    what,
    median(all).toFixed(1),
    `${Math.min(...all).toFixed(1)}-${Math.max(...all).toFixed(1)}`,
  ])
  process.stdout.write(`${toTable(['to a crew that is online', 's', 'min-max'], rows)}\n`)
}
