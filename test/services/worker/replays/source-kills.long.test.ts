import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createRandom } from '../../../../services/platform/evaluations/statistics.ts'
import { startAdapter, whyNoPython, writeProject } from '../../../python/adapter.ts'
import { freePort } from '../../../support/free-port.ts'
import { workerEnv } from '../harness.ts'
import { openBridge, startAlone } from './isolate.ts'
import { openSourceStage } from './source-stage.ts'

const whyNot = whyNoPython()
/** The runs that are replayed, how often, and how many faults there are meanwhile. */
const [RUNS, ROUNDS, FAULTS] = [10, 12, 25]
/** The replays between two faults. */
const BETWEEN = (RUNS * ROUNDS) / (FAULTS + 1) / 2
const MOMENT_MS = 600
const WHILE_MS = 1_800_000

/** Takes some time between its steps, in which it can be killed. */
const PROJECT = {
  'pyproject.toml': '[tool.crew-runtime]\nentrypoint = "crew:run"\ninputs = ["topic"]\n',
  'crew.py': `
import os, time, urllib.request
def look():
    with urllib.request.urlopen(os.environ["TOOL_URL"]) as page:
        return page.read().decode()
def run(inputs, context):
    said = inputs["topic"]
    for number in range(3):
        time.sleep(0.1)
        said += context.step("look", look)
        said = context.model("gpt-5", [{"role": "user", "content": said}]).text
    return said
`,
}

const stage = await openSourceStage({ answer: (question) => `Answer to ${question.length}` })
const { platform, sql } = stage
const bridge = await openBridge(platform.url)
const children = new Set<ChildProcess>()
let crew: Awaited<ReturnType<typeof startAdapter>> | undefined

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await crew?.kill()
})
afterAll(async () => {
  bridge.close()
  await stage.stopServers()
})

/** Starts the crew at an address that stays the same, and workers in a process of their own. */
async function openVictims(crewOptions: Parameters<typeof startAdapter>[0]) {
  async function startCrew(): Promise<string> {
    crew = await startAdapter(crewOptions)
    await crew.ready()
    return crew.url
  }
  const crewUrl = await startCrew()
  // A crew that starts anew has time to, however busy the machine is.
  const worker = { ...workerEnv(platform.url), CREW_PATIENCE_SECONDS: '60' }
  const told = { crew: {}, crewUrl, worker, deploymentId: platform.automation.id }
  const start = async () => {
    const { child } = await startAlone({ ...told, bridge: bridge.path }, false)
    children.add(child)
    return child
  }
  let current = await start()

  const faults = {
    async worker() {
      current.kill('SIGKILL')
      await once(current, 'close')
      children.delete(current)
      await faults.lease()
      current = await start()
    },
    async crew() {
      await crew?.kill()
      await startCrew()
    },
    async both() {
      await Promise.all([faults.worker(), faults.crew()])
    },
    /** Another one takes what this one has: both perform it. None is lost three times in a row. */
    async lease() {
      await sql`
        update replay_runs set lease_expires_at = now(), attempt = 0 where state = 'running'`
    },
  }
  return faults
}

/** Performs runs with all that may be asked. */
async function recordAll(): Promise<void> {
  await platform.startWorker()
  for (let run = 0; run < RUNS; run += 1) {
    await platform.until(await platform.kickoff({ topic: `bees ${run}` }), 'completed')
  }
  await platform.stopServices()
}

/** Notes each result that is written. */
async function noteResults(): Promise<void> {
  await sql`create table written (replay_id uuid, run_id uuid)`
  await sql`
    create function note_result() returns trigger language plpgsql as $$ begin
      insert into written values (new.replay_id, new.run_id); return null;
    end $$`
  await sql`
    create trigger note_result after update on replay_runs for each row
      when (new.finished_at is not null) execute function note_result()`
}

async function countDone(): Promise<number> {
  const [row] = await sql<[{ done: number }]>`select count(*)::int as done from written`
  return row.done
}

describe.skipIf(whyNot !== undefined)('replays of a crew from source', () => {
  it(
    'ask no one and have one result each while workers and crews are killed',
    async () => {
      const folder = await writeProject(PROJECT)
      const port = await freePort()
      const victims = await openVictims({ ...stage.adapterOf(folder), port })
      await platform.deployAt(crew?.url ?? '')
      const version = await stage.addVersion()
      await recordAll()
      await noteResults()
      const before = stage.calls()
      const seed = Date.now()
      const random = createRandom(seed)
      const made = { worker: 0, crew: 0, both: 0, lease: 0 }
      let isOver = false
      async function breakAtRandom(): Promise<void> {
        const kinds = ['worker', 'crew', 'both', 'lease'] as const
        for (let fault = 0; fault < FAULTS; fault += 1) {
          const until = (await countDone()) + Math.floor(random() * 2 * BETWEEN)
          const isDue = async () => isOver || (await countDone()) >= until
          await expect.poll(isDue, { timeout: WHILE_MS, interval: 20 }).toBe(true)
          await delay(random() * MOMENT_MS)
          if (isOver) return
          const kind = kinds[Math.floor(random() * kinds.length)] ?? 'worker'
          made[kind] += 1
          await victims[kind]()
        }
      }
      const breaking = breakAtRandom()
      const found: Record<string, number> = {}
      for (let round = 0; round < ROUNDS; round += 1) {
        const { runs } = await stage.replay(version, { last: RUNS }, WHILE_MS)
        for (const { state, reason } of runs) {
          const key = reason ?? state
          found[key] = (found[key] ?? 0) + 1
        }
      }
      isOver = true
      await breaking
      console.log(`${RUNS * ROUNDS} replays, ${JSON.stringify(made)}, seed ${seed}`)
      expect(found).toEqual({ equal: RUNS * ROUNDS })
      expect(stage.calls()).toBe(before)
      const twice = await sql`
        select replay_id, run_id from written group by 1, 2 having count(*) > 1`
      expect([twice.length, await countDone()]).toEqual([0, RUNS * ROUNDS])
    },
    WHILE_MS,
  )
})
