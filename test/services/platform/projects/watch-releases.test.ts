import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { createVersion } from '../../../../services/platform/projects/project-versions.ts'
import {
  findLastRollback,
  findRelease,
  releaseVersion,
} from '../../../../services/platform/projects/releases.ts'
import type { Rollback, Share } from '../../../../services/platform/projects/releases.ts'
import { DEFAULT_ROLLBACK } from '../../../../services/platform/projects/rollback-rules.ts'
import type { RollbackRule } from '../../../../services/platform/projects/rollback-rules.ts'
import { watchReleases } from '../../../../services/platform/projects/watch-releases.ts'
import { createWebhook } from '../../../../services/platform/webhooks/webhooks.ts'
import { sendAlertMails } from '../../../../services/web/mail/alert-mails.ts'
import { definition } from '../../../support/crew.ts'
import { deployAutomation } from '../../../support/platform.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'

let platform: Platform
let automation: Automation
let project: { organizationId: number; projectId: number }
let versions: readonly number[]
let names = 0

beforeAll(async () => {
  platform = await openPlatform()
})

afterAll(() => platform.close())

const half: Share = { percent: 50, stickyInput: null }
const prices = [
  { models: ['model-a'], perMillion: { input: 1, output: 1 }, readOn: undefined },
].map((price) => ({ ...price, organization: undefined, from: undefined, until: undefined }))

/** An automation that runs version 1, with version 2 published and given no call. */
beforeEach(async () => {
  const { sql, acme } = platform
  const { organizationId } = acme
  names += 1
  automation = await deployAutomation(sql, organizationId, { slug: `watched-${names}` })
  const [found] = await sql<[{ projectId: number }]>`
    select project_id from project_versions where id = ${automation.projectVersionId}`
  project = { organizationId, projectId: found.projectId }
  await createVersion(sql, project, definition)
  await sql`
    update project_versions set published_at = now()
    where project_id = ${found.projectId} and published_at is null`
  const rows = await sql<{ id: number }[]>`
    select id from project_versions where project_id = ${found.projectId} order by number`
  versions = rows.map(({ id }) => id)
})

const release = (rollback?: RollbackRule | null, share = half) =>
  releaseVersion(platform.sql, { ...project, number: 2 }, { ...share, rollback })

interface Ended {
  readonly of: 1 | 2
  readonly runs: number
  readonly status?: 'completed' | 'error'
  readonly tokens?: number
  readonly topic?: string
}

/** Adds runs that ended just now, as if their versions had been drawn. */
async function end({ of, runs, status = 'completed', tokens = 1000, topic }: Ended) {
  const { sql } = platform
  const ids = await sql<{ id: string }[]>`
    insert into executions (deployment_id, project_version_id, organization_id, inputs, status,
      started_at, finished_at, output, error)
    select ${automation.id}, ${versions[of - 1] ?? 0}, ${project.organizationId},
      ${sql.json(topic === undefined ? {} : { topic })}, ${status}, now(), now(),
      ${status === 'completed' ? 'done' : null}, ${status === 'error' ? sql.json({}) : null}
    from generate_series(1, ${runs}) returning id`
  for (const { id } of ids) {
    await sql`
      insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt,
        started_at, ended_at, usage)
      values (${id}, 'a', 0, 'llm', 'model-a', '[]', 'finished', 1, now(), now(),
        ${sql.json({ input_tokens: tokens, output_tokens: 0 })})`
  }
  return ids.map(({ id }) => id)
}

/** As many of both versions, in turns, of which those of the second one fail. */
const failInTurns = async (runs: number, topic?: (run: number) => string) => {
  for (let run = 0; run < runs; run += 1) {
    await end({ of: 1, runs: 1, ...(topic && { topic: `a ${topic(run)}` }) })
    await end({ of: 2, runs: 1, status: 'error', ...(topic && { topic: topic(run) }) })
  }
}

const look = async () => {
  await platform.sql`update releases set looked_at = null`
  return watchReleases(platform.sql, prices)
}

async function lastRollback(): Promise<Rollback> {
  const found = await findLastRollback(platform.sql, project)
  if (!found) throw new Error('no version was taken back')
  return found
}

describe('a version that is worse', () => {
  it('takes no calls any more, and audit, webhook and mail say why, once', async () => {
    const { sql, acme } = platform
    const [member] = await sql<[{ email: string }]>`
      select u.email from users u join memberships m on m.user_id = u.id
      where m.organization_id = ${acme.organizationId} limit 1`
    const webhookId = randomUUID()
    await createWebhook(sql, {
      id: webhookId,
      deploymentId: automation.id,
      url: 'https://crm.example.com/hook',
      eventTypes: ['release_rolled_back'],
      format: 'standard',
      sealedKey: Buffer.from('sealed'),
    })
    await release({ ...DEFAULT_ROLLBACK, mail: [member.email.toUpperCase()] })
    await failInTurns(20)
    // Two workers at once, and once more afterwards.
    const done = await Promise.all([look(), look()])
    expect(done.reduce((sum, each) => sum + each)).toBe(1)
    expect(await look()).toBe(0)
    expect(await findRelease(sql, project)).toEqual({ running: 1, shared: null })

    const rollback = await lastRollback()
    expect(rollback).toMatchObject({ number: 2, running: 1, percent: 50 })
    expect(rollback.text).toMatch(
      /: 100\.0 % of 20 runs, against 0\.0 % of 20 runs\. .* at least \d+\.\d points; 5 are/,
    )
    expect(rollback.runs).toHaveLength(5)
    expect(rollback.runs[0]?.automation_id).toBe(automation.automationId)
    const entries = await sql`
      select after ->> 'why' as why, actor_kind, organization_id from audit_entries
      where action = 'version_rolled_back' and target_id = ${`${project.projectId}/2`}`
    expect(entries).toEqual([
      { why: rollback.text, actorKind: 'platform', organizationId: acme.organizationId },
    ])
    const messages = await sql<{ payload: { data: object } }[]>`
      select payload from webhook_messages where webhook_id = ${webhookId}`
    expect(messages.map(({ payload }) => payload.data)).toMatchObject([
      { version: 2, running: 1, text: rollback.text, runs: rollback.runs },
    ])
    const sent: { to: string; subject: string; text: string }[] = []
    const mailer = { send: async (mail: (typeof sent)[number]) => void sent.push(mail) }
    await sendAlertMails({ sql, mailer, baseUrl: 'https://platform.test' })
    await sendAlertMails({ sql, mailer, baseUrl: 'https://platform.test' })
    expect(sent).toMatchObject([
      { to: member.email, subject: expect.stringContaining('Taken back: version 2 of') },
    ])
    expect(sent[0]?.text).toContain(rollback.text)
    expect(sent[0]?.text).toContain(rollback.runs[0]?.kickoff_id)
  })

  it('is found by its costs', async () => {
    await release({ ...DEFAULT_ROLLBACK, failurePoints: null, ratingPoints: null })
    for (let run = 0; run < 80; run += 1) {
      await end({ of: 1, runs: 1 })
      await end({ of: 2, runs: 1, tokens: 3000 })
    }
    expect(await look()).toBe(1)
    const rollback = await findLastRollback(platform.sql, project)
    expect(rollback?.text).toContain('Cost of a typical run: US$ 0.00300 of 80 runs')
  })

  it('is found by what people say of its runs', async () => {
    const { sql, acme } = platform
    await release({ ...DEFAULT_ROLLBACK, failurePoints: null, costPercent: null })
    for (let run = 0; run < 30; run += 1) {
      for (const of of [1, 2] as const) {
        const [id] = await end({ of, runs: 1 })
        await sql`
          insert into trace_notes (organization_id, trace_id, rating, note)
          values (${acme.organizationId}, ${id ?? ''}, ${of === 1 ? 1 : -1}, '')`
      }
    }
    expect(await look()).toBe(1)
    const rollback = await findLastRollback(sql, project)
    expect(rollback?.text).toContain('Runs rated as bad: 100.0 % of 30 runs')
  })
})

describe('a version whose checks fail', () => {
  const score = async (of: 1 | 2, state: string) => {
    const [runId] = await end({ of, runs: 1 })
    const { id: deploymentId, organizationId } = automation
    const row = { runId, deploymentId, organizationId, state, scoredAt: new Date() }
    await platform.sql`insert into run_scores ${platform.sql({ ...row })}`
  }

  it('is taken back where the rule compares scores, and not by those that are none', async () => {
    const none = { failurePoints: null, costPercent: null, ratingPoints: null }
    await release({ ...DEFAULT_ROLLBACK, ...none, scorePoints: 10 })
    for (let run = 0; run < 30; run += 1) await score(2, 'error')
    expect(await look()).toBe(0)
    for (let run = 0; run < 30; run += 1) {
      await score(1, 'passed')
      await score(2, 'failed')
    }
    expect(await look()).toBe(1)
    const rollback = await findLastRollback(platform.sql, project)
    expect(rollback?.text).toContain('Runs whose checks fail: 100.0 % of 30 runs')
  })

  it('keeps its share by a rule of before, which compares no scores', async () => {
    await release()
    await platform.sql`update releases set rollback = rollback - 'scorePoints'`
    for (let run = 0; run < 30; run += 1) {
      await score(1, 'passed')
      await score(2, 'failed')
    }
    expect(await look()).toBe(0)
    const { shared } = await findRelease(platform.sql, project)
    expect(shared?.rollback?.scorePoints).toBeNull()
    expect(shared?.standing?.measures).toHaveLength(3)
  })
})

describe('a version keeps its share', () => {
  it('while it is as good, and the page knows what was seen', async () => {
    await release()
    await end({ of: 1, runs: 12 })
    await end({ of: 2, runs: 10 })
    expect(await look()).toBe(0)
    const { shared } = await findRelease(platform.sql, project)
    expect(shared?.standing).toMatchObject({
      runs: { running: 12, new: 10 },
      measures: [{ measure: 'failures', margin: 5 }, { measure: 'cost' }, { measure: 'ratings' }],
    })
    // The same runs are not counted again.
    await look()
    const again = await findRelease(platform.sql, project)
    expect(again.shared?.standing).toEqual(shared?.standing)
  })

  it('when people switched the test off', async () => {
    await release(null)
    await failInTurns(20)
    expect(await look()).toBe(0)
    expect((await findRelease(platform.sql, project)).shared?.standing).toBeNull()
  })

  it('when runs fail whose version was not drawn', async () => {
    const { sql } = platform
    await release()
    const ids = await end({ of: 2, runs: 30, status: 'error' })
    const [origin] = await end({ of: 1, runs: 1 })
    await sql`
      update executions set origin_id = ${origin ?? ''}, origin_action = 'retry'
      where id = any(${ids}::uuid[])`
    expect(await look()).toBe(0)
    const { shared } = await findRelease(sql, project)
    expect(shared?.standing?.runs).toEqual({ running: 1, new: 0 })
  })

  it('when one customer fails always, whose input draws the version', async () => {
    await release(DEFAULT_ROLLBACK, { percent: 50, stickyInput: 'topic' })
    await failInTurns(20, () => 'acme')
    expect(await look()).toBe(0)
    const { shared } = await findRelease(platform.sql, project)
    expect(shared?.standing?.runs).toEqual({ running: 1, new: 1 })
  })

  it('when a person releases it anew in the moment of the look', async () => {
    const { sql } = platform
    await release()
    await failInTurns(20)
    await sql.begin(async (tx) => {
      await tx`select from projects where id = ${project.projectId} for update`
      expect(await look()).toBe(0)
    })
    expect((await findRelease(sql, project)).shared?.number).toBe(2)
  })
})

describe('a rule is refused', () => {
  it.each([
    [{ mail: ['eve@rival.example'] }, '"eve@rival.example" is not the address of a member'],
    [
      { failurePoints: null, costPercent: null, ratingPoints: null },
      'needs a margin for failures, costs, ratings or scores',
    ],
  ])('for %j', async (wrong, message) => {
    await expect(release({ ...DEFAULT_ROLLBACK, ...wrong })).rejects.toThrow(message)
    expect((await findRelease(platform.sql, project)).shared).toBeNull()
  })
})
