import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { createRandom } from '../../../../services/platform/evaluations/statistics.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../../services/platform/webhooks/webhook-keys.ts'
import { createWebhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { crewToken } from '../../../../services/shared/crew-token.ts'
import { definition } from '../../../support/crew.ts'
import { startHttpServer } from '../../../support/http-server.ts'
import { isLong } from '../../../support/long.ts'
import { SECRET_KEY_BASE, workerEnv } from '../harness.ts'
import type { Connected } from './alone.ts'
import { canIsolate, openBridge, startAlone } from './isolate.ts'
import { openKinds } from './kinds.ts'

const RUNS = isLong ? 200 : 4
/** The runs that are replayed while workers are killed, how often, and how often these are. */
const [KILLED_RUNS, ROUNDS, KILLS] = [22, 46, 60]
/** The replays between two kills. */
const BETWEEN = (KILLED_RUNS * ROUNDS) / (KILLS + 1) / 2
const WHILE_MS = isLong ? 1_800_000 : 90_000

const stage = await openKinds()
const { platform, sql, calls } = stage
const { automation } = platform
const bridge = await openBridge(platform.url)
let heard = 0
const receiver = await startHttpServer((_, response) => {
  heard += 1
  response.writeHead(204).end()
})
const children = new Set<ChildProcess>()
/** The runs of each version. */
let recorded: { readonly version: number; readonly ids: readonly string[] }[] = []

afterEach(() => {
  for (const child of children) child.kill('SIGKILL')
})

afterAll(async () => {
  bridge.close()
  await receiver.stop()
  await stage.stopServers()
})

/** Performs runs of each kind with all that may be asked, and stops everything. */
async function recordAll(count: number): Promise<void> {
  await stage.startAll()
  recorded = []
  const kinds = Object.values(stage.kinds)
  for (const [index, kind] of kinds.entries()) {
    const version = await stage.publishVersion(kind.change)
    const ids: string[] = []
    for (let run = index; run < count; run += kinds.length) ids.push(await stage.record(kind))
    if (ids.length > 0) recorded.push({ version, ids })
  }
  await platform.stopServices()
}

/** Starts a worker and a crew in a process of their own, without a network if it is told so. */
async function start(isIsolated: boolean) {
  const told = {
    crew: {
      HOST: '127.0.0.1',
      PORT: '0',
      CREW_DEFINITION: JSON.stringify(definition),
      CREW_TOKEN: crewToken(SECRET_KEY_BASE, automation.automationId),
      OPENAI_BASE_URL: stage.model.baseUrl,
      TOOL_PRIVATE_ORIGINS: [stage.server.origin, stage.travel.origin].join(','),
    },
    worker: { ...workerEnv(platform.url), WEBHOOK_PRIVATE_ORIGINS: receiver.url },
    deploymentId: automation.id,
    bridge: bridge.path,
  }
  const { child, end } = await startAlone(told, isIsolated)
  children.add(child)
  return {
    async end(): Promise<Connected> {
      const found = await end()
      children.delete(child)
      return found
    },
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await once(child, 'close')
      children.delete(child)
      // Nothing is waited for: what it had is taken by the next one at once.
      await sql`update replay_runs set lease_expires_at = now() where state = 'running'`
    },
  }
}

/** Replays all runs, some versions at a time; returns how many were found to be what. */
async function replayAll(): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const { version, ids } of recorded) {
    const { runs } = await stage.replay(version, { kickoffIds: ids }, WHILE_MS)
    for (const { state, reason } of runs) {
      const key = state === 'equal' ? state : `${state}: ${reason}`
      found[key] = (found[key] ?? 0) + 1
    }
  }
  return found
}

const counts = () => ({ calls: calls(), heard })

async function countDone(): Promise<number> {
  const [row] = await sql<[{ done: number }]>`
    select count(*)::int as done from replay_runs where finished_at is not null`
  return row.done
}

/** Kills workers in the middle of replays until it is told to stop; returns how many. */
async function killAtRandom(isOver: () => boolean, random: () => number): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    const alone = await start(false)
    const until = (await countDone()) + Math.floor(random() * 2 * BETWEEN)
    const isDue = async () => isOver() || (kills < KILLS && (await countDone()) >= until)
    await expect.poll(isDue, { timeout: WHILE_MS, interval: 20 }).toBe(true)
    await alone.kill()
    if (isOver()) return kills
  }
}

describe('recorded runs of all kinds', () => {
  it.runIf(canIsolate)(
    'are all equal without a network, and open no other socket',
    async () => {
      await recordAll(RUNS)
      const before = counts()
      const alone = await start(true)
      expect(await replayAll()).toEqual({ equal: RUNS })
      expect(await alone.end()).toEqual({ addresses: {}, datagrams: 0, refused: 0 })
      expect(counts()).toEqual(before)
    },
    WHILE_MS,
  )

  it.runIf(isLong)(
    'ask no model, tool or receiver of webhooks while their workers are killed',
    async () => {
      await recordAll(KILLED_RUNS)
      const [{ id }] = await sql<[{ id: string }]>`select gen_random_uuid() as id`
      const key = { id, deploymentId: automation.id }
      const sealedKey = createWebhookKeys(SECRET_KEY_BASE).seal(createWebhookSecret(), key)
      const hook = { ...key, url: receiver.url, sealedKey }
      await createWebhook(sql, { ...hook, eventTypes: ['*'], format: 'standard' })
      const before = counts()
      const seed = Date.now()
      let isOver = false
      const killing = killAtRandom(() => isOver, createRandom(seed))
      const found: Record<string, number> = {}
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const [key, count] of Object.entries(await replayAll())) {
          found[key] = (found[key] ?? 0) + count
        }
      }
      isOver = true
      const kills = await killing
      console.log(`${KILLED_RUNS * ROUNDS} replays, ${kills} kills, seed ${seed}`)
      expect(kills).toBeGreaterThan(0)
      expect(found).toEqual({ equal: KILLED_RUNS * ROUNDS })
      expect(counts()).toEqual(before)
      expect(await sql`select from webhook_messages`).toHaveLength(0)
    },
    WHILE_MS,
  )
})
