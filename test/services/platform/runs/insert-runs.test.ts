import { describe, expect, it } from 'vitest'
import { createRunInserter, insertRuns } from '../../../../services/platform/runs/insert-runs.ts'
import type { NewRun } from '../../../../services/platform/runs/insert-runs.ts'
import { createQueueRoom } from '../../../../services/platform/runs/queue-room.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { useOneAutomation } from '../one-automation.ts'

const at = useOneAutomation()

const newRun = (topic: unknown, more: Partial<NewRun> = {}): NewRun => ({
  deploymentId: at.automation.id,
  inputs: JSON.stringify({ topic }),
  versionId: null,
  idempotencyKey: null,
  trigger: 'api',
  starterId: 'token:1',
  starterName: 'CI',
  ...more,
})

const topicOf = async (id: string | undefined) => {
  const [row] =
    await at.sql`select inputs ->> 'topic' as topic from executions where id = ${id ?? ''}`
  return row?.['topic']
}

describe('runs that arrive together', () => {
  it('are committed together, and each is there when its caller hears of it', async () => {
    const insert = createRunInserter(at.sql)
    const topics = Array.from({ length: 60 }, (_, n) => `${n} "\\ \n ✓`)
    const found = topics.map(async (topic) => topicOf(await insert(newRun(topic))))
    expect(await Promise.all(found)).toEqual(topics)
    const commits = await at.sql`select distinct xmin::text from executions`
    expect(commits.length).toBeLessThan(5)
  })

  it('fail alone: one that the database refuses, and one whose automation is deleted', async () => {
    const insert = createRunInserter(at.sql)
    const good = ['a', 'b', 'c'].map((topic) => insert(newRun(topic)))
    const refused = insert(newRun('\0'))
    const foreign = insert(newRun('x', { deploymentId: 2_000_000_000 }))
    const failures = [refused, foreign].map((each) => expect(each).rejects.toThrow())
    await Promise.all(failures)
    await expect(refused).rejects.toMatchObject({ code: '22P05' })
    const ids = await Promise.all(good)
    expect(await Promise.all(ids.map(topicOf))).toEqual(['a', 'b', 'c'])
    await at.sql`update deployments set deleting_since = now()`
    const request = { deploymentId: at.automation.id, inputs: {}, insert }
    await expect(kickoff(at.sql, request)).rejects.toMatchObject({ code: 'conflict' })
    expect(await insertRuns(at.sql, [newRun('late')])).toEqual([undefined])
    await at.sql`update deployments set deleting_since = null`
  })

  it('leave those out that need a transaction of their own', async () => {
    const insert = () => Promise.reject(new Error('with others'))
    const request = { deploymentId: at.automation.id, inputs: { topic: 'x' }, insert }
    await expect(kickoff(at.sql, request)).rejects.toThrow('with others')
    const id = await kickoff(at.sql, { ...request, idempotencyKey: 'once' })
    expect(await kickoff(at.sql, { ...request, idempotencyKey: 'once' })).toBe(id)
    await at.sql`delete from executions`
  })

  it('fill the queue to its limit and no further', async () => {
    const insert = createRunInserter(at.sql)
    const room = createQueueRoom({ queuedRuns: 7 })
    const admit = room.of(at.automation.organizationId)
    const request = { deploymentId: at.automation.id, inputs: {}, admit, insert }
    const all = Array.from({ length: 20 }, () => kickoff(at.sql, request))
    const outcomes = await Promise.allSettled(all)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
    const [queued] = await at.sql`select count(*)::int as count from executions`
    expect(queued?.['count']).toBe(7)
  })
})
