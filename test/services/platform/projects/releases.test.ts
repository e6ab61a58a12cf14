import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import {
  createVersion,
  pinDraft,
  publishDraft,
} from '../../../../services/platform/projects/project-versions.ts'
import type { Publication } from '../../../../services/platform/projects/project-versions.ts'
import type { VersionKey } from '../../../../services/platform/projects/projects.ts'
import {
  compareRuns,
  endRelease,
  findRelease,
  releaseVersion,
} from '../../../../services/platform/projects/releases.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { definition } from '../../../support/crew.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'

let platform: Platform
let automation: Automation
let project: { organizationId: number; projectId: number }
let names = 0

beforeAll(async () => {
  platform = await openPlatform()
})

afterAll(() => platform.close())

/** An automation that runs version 1, with version 2 published and given no call. */
beforeEach(async () => {
  const { sql, acme } = platform
  names += 1
  automation = await deployAutomation(sql, acme.organizationId, { slug: `release-${names}` })
  project = { organizationId: acme.organizationId, projectId: await projectOf(automation) }
  await publish()
  await releaseVersion(sql, version(1), all)
})

const all = { percent: 100, stickyInput: null }
const tenth = { percent: 10, stickyInput: null }
const version = (number: number): VersionKey => ({ ...project, number })

async function projectOf({ projectVersionId }: Automation): Promise<number> {
  const [found] = await platform.sql<{ projectId: number }[]>`
    select project_id from project_versions where id = ${projectVersionId}`
  return found?.projectId ?? 0
}

async function draft(): Promise<VersionKey> {
  const { number } = await createVersion(platform.sql, project, definition)
  return version(number)
}

async function publish(publication?: Publication, key?: VersionKey): Promise<void> {
  const pinned = await pinDraft(platform.sql, key ?? (await draft()), async (given) => given)
  await publishDraft(platform.sql, pinned, publication)
}

interface Call {
  readonly key?: string
  readonly topic?: unknown
}

/** Starts a run, and returns the number of its version. */
async function call({ key, topic = 'tides' }: Call = {}): Promise<number> {
  const id = await kickoff(platform.sql, {
    deploymentId: automation.id,
    inputs: { topic },
    idempotencyKey: key,
  })
  const [run] = await platform.sql<{ number: number }[]>`
    select v.number from executions e join project_versions v on v.id = e.project_version_id
    where e.id = ${id}`
  return run?.number ?? 0
}

const many = async (calls: readonly Call[]): Promise<number[]> => {
  const found: number[] = []
  for (const each of calls) found.push(await call(each))
  return found
}

describe('a released version', () => {
  it('takes all calls, also an older one, and the newest can be released again', async () => {
    expect(await findRelease(platform.sql, project)).toEqual({ running: 1, shared: null })
    expect(await call()).toBe(1)
    await releaseVersion(platform.sql, version(2), all)
    expect(await call()).toBe(2)
    expect(await findRelease(platform.sql, project)).toEqual({ running: 2, shared: null })
  })

  it('takes the share of the calls that it was given', async () => {
    await releaseVersion(platform.sql, version(2), { percent: 25, stickyInput: null })
    const found = await many(Array.from({ length: 400 }, () => ({})))
    const share = found.filter((number) => number === 2).length
    // Wrong once in some ten million runs: six standard deviations.
    expect(Math.abs(share - 100)).toBeLessThan(52)
  })

  it('is the same for equal keys or values, and stays so while its share grows', async () => {
    const { sql } = platform
    const isChosen = async ([key, topic]: readonly [string, unknown]): Promise<boolean> => {
      const inputs = JSON.stringify({ topic })
      const [row] = await sql<[{ id: number | null }]>`
        select released_version(${automation.id}, ${key}, ${inputs}::text::jsonb) as id`
      return row.id !== null
    }
    const text = fc.string({ maxLength: 20 }).map((found) => found.replaceAll('\0', ''))
    const percent = fc.integer({ min: 1, max: 99 })
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(percent, percent).map(([a, b]) => (a < b ? [a, b] : [b, a]) as [number, number]),
        fc.tuple(
          text,
          fc.oneof(text, fc.integer(), fc.dictionary(fc.constant('id'), fc.integer())),
        ),
        text,
        async ([less, more], [key, topic], other) => {
          for (const [stickyInput, again] of [
            [null, [key, other]],
            ['topic', [other, topic]],
          ] as const) {
            await releaseVersion(sql, version(2), { percent: less, stickyInput })
            const isEarly = await isChosen([key, topic])
            expect(await isChosen(again)).toBe(isEarly)
            await releaseVersion(sql, version(2), { percent: more, stickyInput })
            if (isEarly) expect(await isChosen([key, topic])).toBe(true)
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  it('takes no call once its share is taken back', async () => {
    await releaseVersion(platform.sql, version(2), { percent: 99, stickyInput: null })
    expect(await endRelease(platform.sql, project)).toBe(true)
    expect(await endRelease(platform.sql, project)).toBe(false)
    expect(new Set(await many(Array.from({ length: 10 }, () => ({}))))).toEqual(new Set([1]))
  })

  it('is compared with the one that runs, by the calls since it has its share', async () => {
    const { sql } = platform
    await call()
    await releaseVersion(sql, version(2), { percent: 50, stickyInput: 'topic' })
    const release = await findRelease(sql, project)
    const started = await many(Array.from({ length: 20 }, (_, topic) => ({ topic })))
    await sql`
      update executions e set status = 'error', error = '{}', finished_at = now()
      from project_versions v
      where v.id = e.project_version_id and v.number = 2 and v.project_id = ${project.projectId}`
    const seconds = started.filter((number) => number === 2).length
    expect(await compareRuns(sql, project, release)).toMatchObject([
      { number: 1, runs: 20 - seconds, ended: 0, failed: 0, medianSeconds: null },
      { number: 2, runs: seconds, ended: seconds, failed: seconds, medianSeconds: null },
    ])
    // Another share goes on with the comparison, another version begins a new one.
    await releaseVersion(sql, version(2), tenth)
    const { shared } = await findRelease(sql, project)
    expect(shared?.startedAt).toEqual(release.shared?.startedAt)
    expect(shared).toMatchObject({ number: 2, percent: 10, stickyInput: null })
  })
})

describe('publishing', () => {
  it('gives a version a share, if that is wished, and all calls otherwise', async () => {
    await publish({ share: tenth })
    expect(await findRelease(platform.sql, project)).toMatchObject({
      running: 1,
      shared: { number: 3, percent: 10 },
    })
    await publish()
    expect(await findRelease(platform.sql, project)).toEqual({ running: 4, shared: null })
  })

  it('of an older draft changes nothing of what runs, as after a rollback', async () => {
    const older = await draft()
    await publish({ share: tenth })
    await publish({}, older)
    expect(await findRelease(platform.sql, project)).toMatchObject({
      running: 1,
      shared: { number: 4 },
    })
  })
})

describe('a release is refused', () => {
  it.each([
    ['a draft', 3, 'Version 3 is a draft. Publish it first.'],
    ['a version that is not there', 9, 'no such version'],
    ['the version that runs', 1, 'Version 1 takes all other calls already'],
  ])('for %s', async (_, number, message) => {
    await draft()
    await expect(releaseVersion(platform.sql, version(number), tenth)).rejects.toThrow(message)
    expect(await findRelease(platform.sql, project)).toEqual({ running: 1, shared: null })
  })

  it('for an input that the version does not have', async () => {
    const share = { percent: 10, stickyInput: 'customer' }
    await expect(releaseVersion(platform.sql, version(2), share)).rejects.toThrow(
      'no input "customer". Its inputs: topic.',
    )
  })

  it('for a version of another organization, and its project', async () => {
    const { sql, rival } = platform
    const foreign = { ...version(2), organizationId: rival.organizationId }
    await expect(releaseVersion(sql, foreign, tenth)).rejects.toThrow('no such version')
    await releaseVersion(sql, version(2), tenth)
    expect(await endRelease(sql, foreign)).toBe(false)
    expect(await findRelease(sql, foreign)).toEqual({ running: null, shared: null })
    expect(await compareRuns(sql, foreign, await findRelease(sql, project))).toEqual([])
  })

  it('by the database for a share that is none', async () => {
    const release = releaseVersion(platform.sql, version(2), { percent: 0, stickyInput: null })
    await expect(release).rejects.toThrow('share_check')
  })
})
