import { describe, expect, it } from 'vitest'
import { takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { useDatabase } from '../../../support/use-database.ts'

const SLOTS = 12
const SECONDS = 250
/** Of each organization: how many automations it has, and how long its runs last on average. */
const ORGANIZATIONS = [
  { automations: 20, seconds: 2 },
  { automations: 1, seconds: 2 },
  { automations: 3, seconds: 30 },
  { automations: 8, seconds: 5 },
  { automations: 2, seconds: 10 },
  { automations: 1, seconds: 1 },
]

/** `SIMULATED_HOURS=10000` is the long form, of some three minutes. */
const HOURS = Number(process.env['SIMULATED_HOURS'] ?? 150)
/** Of a run; all slots may have one when another organization comes. */
const LASTS_HOURS_MAX = 12
/** The longest time between two starts of an automation of which runs wait. */
const PATIENCE_HOURS = 72
/** Of an automation, which sends as many as it may. */
const WAITING_MAX = 40

const at = useDatabase()

/** Numbers between 0 and 1 that only seem random (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/** 1: all have the same; 1 / n: one has all. */
const jainIndex = (shares: readonly number[]): number =>
  shares.reduce((sum, each) => sum + each, 0) ** 2 /
  (shares.length * shares.reduce((sum, each) => sum + each ** 2, 0))

interface Organization {
  readonly id: number
  readonly automations: readonly number[]
  readonly seconds: number
}

async function createOrganizations(): Promise<Organization[]> {
  await at.sql`delete from executions`
  const organizations: Organization[] = []
  for (const [index, { automations: count, seconds }] of ORGANIZATIONS.entries()) {
    const automations: number[] = []
    let id = 0
    for (let n = 0; n < count; n += 1) {
      const name = `organization-${index}`
      const made = await seedAutomation(at.sql, { organization: name, slug: `${name}-${n}` })
      id = made.organizationId
      automations.push(made.id)
    }
    organizations.push({ id, automations, seconds })
  }
  return organizations
}

/** Lets runs arrive at random, more than there is room for; returns the slots that each had. */
async function simulate(organizations: readonly Organization[]): Promise<number[]> {
  const random = createRandom(1)
  const running = new Map<string, { organizationId: number; endsAt: number }>()
  const shares = new Map(organizations.map(({ id }) => [id, 0]))
  for (let second = 0; second < SECONDS; second += 1) {
    const arrivals = organizations.flatMap(({ automations, seconds }) => {
      const perSecond = (2 * SLOTS) / organizations.length / seconds
      const count = Math.floor(random() * 2 * perSecond + random())
      return Array.from(
        { length: second === 0 ? 20 : count },
        () => automations[Math.floor(random() ** 2 * automations.length)] ?? 0,
      )
    })
    await at.sql`
      insert into executions (deployment_id, inputs) select unnest(${arrivals}::int[]), '{}'`
    for (const { id, organizationId } of await takeRuns(at.sql, SLOTS - running.size)) {
      const seconds = organizations.find((each) => each.id === organizationId)?.seconds ?? 1
      const lasts = Math.max(1, Math.round(-Math.log(1 - random()) * seconds))
      running.set(id, { organizationId, endsAt: second + lasts })
    }
    expect(running.size).toBe(SLOTS)
    for (const { organizationId } of running.values()) {
      shares.set(organizationId, (shares.get(organizationId) ?? 0) + 1)
    }
    const ended = [...running].flatMap(([id, { endsAt }]) => (endsAt <= second + 1 ? [id] : []))
    await endRuns(ended)
    for (const id of ended) running.delete(id)
  }
  return [...shares.values()]
}

/** What waits of an automation, and since when: its last start, or the first that came. */
interface Line {
  waiting: number
  since: number
}

/** Sends runs of an automation: some send all that may wait, some a few, and some hardly any. */
const sendsAtOnce = (place: number, { waiting }: Line, random: () => number): number =>
  place % 3 === 0 ? WAITING_MAX - waiting : random() < (place % 3 === 1 ? 0.2 : 0.01) ? 1 : 0

async function endRuns(ids: readonly string[]): Promise<void> {
  await at.sql`
    update executions set status = 'completed', output = '', finished_at = now(),
      lease_id = null, lease_expires_at = null
    where id = any (${[...ids]})`
}

/** Returns the longest hours that an automation waited for its turn. */
async function simulateHours(organizations: readonly Organization[]): Promise<number> {
  const random = createRandom(2)
  const lines = new Map<number, Line>(
    organizations.flatMap(({ automations }) =>
      automations.map((id) => [id, { waiting: 0, since: 0 }]),
    ),
  )
  const running = new Map<string, number>()
  let longest = 0
  for (let hour = 0; hour < HOURS; hour += 1) {
    const arrivals = [...lines].flatMap(([id, line], place) => {
      const count = sendsAtOnce(place, line, random)
      if (line.waiting === 0) line.since = hour
      line.waiting += count
      return Array.from({ length: count }, () => id)
    })
    await at.sql`
      insert into executions (deployment_id, inputs) select unnest(${arrivals}::int[]), '{}'`
    for (const { id, deploymentId } of await takeRuns(at.sql, SLOTS - running.size)) {
      running.set(id, hour + 1 + Math.floor(random() ** 3 * LASTS_HOURS_MAX))
      const line = lines.get(deploymentId)
      if (line) Object.assign(line, { waiting: line.waiting - 1, since: hour })
    }
    // Nobody renews them, and more than a lease may pass here.
    await at.sql`
      update executions set lease_expires_at = now() + interval '1 day' where status = 'running'`
    expect(running.size).toBe(SLOTS)
    for (const { waiting, since } of lines.values()) {
      if (waiting > 0) longest = Math.max(longest, hour - since)
    }
    const ended = [...running].flatMap(([id, endsAt]) => (endsAt <= hour + 1 ? [id] : []))
    await endRuns(ended)
    await at.sql`delete from executions where id = any (${ended})`
    for (const id of ended) running.delete(id)
  }
  return longest
}

describe('the slots of the workers', () => {
  it('are shared out alike, whatever the automations and the length of runs', async () => {
    const shares = await simulate(await createOrganizations())
    expect(jainIndex(shares)).toBeGreaterThanOrEqual(0.98)
  }, 120_000)

  it(
    'come to each automation in time, whatever the others send',
    async () => {
      const longest = await simulateHours(await createOrganizations())
      expect(longest).toBeLessThanOrEqual(PATIENCE_HOURS)
    },
    120_000 + HOURS * 500,
  )
})
