import { beforeAll, describe, expect, it } from 'vitest'
import { startFork, startRetry } from '../../../../services/platform/runs/run-again.ts'
import {
  findArtifact,
  listArtifacts,
  storeArtifacts,
} from '../../../../services/platform/runs/run-artifacts.ts'
import { readEvents } from '../../../../services/platform/runs/run-events.ts'
import { deleteExpiredRuns } from '../../../../services/platform/runs/run-retention.ts'
import { definition } from '../../../support/crew.ts'
import { isSilent, says } from '../../crew/fake-model.ts'
import { begin, line, startBrokenCrew } from '../broken-crew.ts'
import { openWorker } from '../harness.ts'

const { deploy, model, platform, publish } = await openWorker()

beforeAll(async () => {
  const tasks = definition.tasks.map((task) => ({
    ...task,
    output_file: `${task.key}/{topic}.md`,
  }))
  await publish({ ...definition, tasks })
})

async function filesOf(id: string): Promise<string[][]> {
  const files = await listArtifacts(platform.sql, id)
  const found = files.map(({ name }) => findArtifact(platform.sql, id, name))
  return (await Promise.all(found)).map((file) => [file?.name ?? '', file?.content ?? ''])
}

/** Runs two tasks to their end. */
async function complete(facts = 'Facts.'): Promise<string> {
  model.play(says(facts), says('A summary.'))
  await platform.startWorker()
  const id = await platform.kickoff()
  await platform.until(id, 'completed')
  return id
}

const announced = async (id: string) =>
  (await platform.events(id)).filter(({ type }) => type === 'artifact')

describe('the files that tasks write', () => {
  it('are kept with the run, and announced without their content', async () => {
    await deploy()
    const id = await complete()
    expect(await filesOf(id)).toEqual([
      ['research-whales.md', 'Facts.'],
      ['write-whales.md', 'A summary.'],
    ])
    expect(await announced(id)).toMatchObject([
      { task: 'research', name: 'research-whales.md', characters: 6 },
      { task: 'write', name: 'write-whales.md', characters: 10 },
    ])
    const { events } = await readEvents(platform.sql, id, { after: 0, limit: 100 })
    expect(JSON.stringify(events.filter(({ event }) => event.type === 'artifact'))).not.toContain(
      'content',
    )
  })

  it('are there once when another worker goes on after a finished task', async () => {
    await deploy()
    model.play(says('Facts.'), isSilent)
    const worker = await platform.startWorker()
    const id = await platform.kickoff()
    await expect.poll(() => model.requests.length).toBe(2)
    await worker.stop()
    expect(await filesOf(id)).toEqual([['research-whales.md', 'Facts.']])
    model.play(says('A summary.'))
    await platform.startWorker()
    await platform.until(id, 'completed')
    expect((await filesOf(id)).map(([, content]) => content)).toEqual(['Facts.', 'A summary.'])
    expect(await announced(id)).toHaveLength(2)
  })

  it('go along with the steps that a retry and a fork keep', async () => {
    await deploy()
    const { sql, automation } = platform
    const id = await complete()
    await platform.stopServices()
    const run = await platform.get(id)
    if (!run) throw new Error('no run')
    const again = { automation, run, fromStep: 'write' }
    const retried = await startRetry(sql, again)
    const forked = await startFork(sql, { ...again, inputs: { topic: 'otters' } })
    for (const kept of [retried, forked]) {
      expect(await filesOf(kept)).toEqual([['research-whales.md', 'Facts.']])
    }
  })

  it('are deleted with the run', async () => {
    await deploy()
    const id = await complete()
    const { sql } = platform
    await sql`update executions set finished_at = now() - interval '93 days' where id = ${id}`
    await deleteExpiredRuns(sql, { days: 90 })
    expect(await listArtifacts(sql, id)).toEqual([])
  })

  it('of another crew get safe names, are cut at 1 MiB, and are 100 at most', async () => {
    const crew = await startBrokenCrew((response) => {
      begin(response)
      const write = (name: string, content: string) =>
        response.write(line({ type: 'artifact', task: 'write', name, content }))
      write('../../etc/pass\0wd', 'first')
      write('etc/passwd', 'second')
      write('..', 'nameless')
      write('big.txt', `${'x'.repeat(1_048_575)}é and more`)
      for (let each = 0; each < 120; each += 1) write(`n${each}`, 'x')
      write('big.txt', `${'x'.repeat(1_048_575)}é and more`)
      const usage = { input_tokens: 1, output_tokens: 1 }
      response.end(line({ type: 'crew_completed', output: 'done', usage }))
    })
    await platform.deployAt(crew.url)
    await platform.startWorker()
    const id = await platform.kickoff()
    await platform.until(id, 'completed')
    const files = await listArtifacts(platform.sql, id)
    expect(files).toHaveLength(100)
    expect(files.find(({ name }) => name === 'big.txt')).toMatchObject({
      size: 1_048_575,
      leftOut: 10,
    })
    expect(await findArtifact(platform.sql, id, 'output.txt')).toMatchObject({
      content: 'nameless',
    })
    expect(await findArtifact(platform.sql, id, 'etc-pass�wd')).toMatchObject({ content: 'first' })
    expect(await findArtifact(platform.sql, id, 'etc-passwd')).toMatchObject({ content: 'second' })
    await crew.stop()
  })

  it('are not stored for a worker that lost the run', async () => {
    const id = await platform.kickoff()
    const lease = await platform.takeOne()
    const file = { name: 'a.md', task: 'write', content: 'x' }
    await storeArtifacts(platform.sql, { ...lease, leaseId: id }, [file])
    expect(await listArtifacts(platform.sql, id)).toEqual([])
    await storeArtifacts(platform.sql, lease, [file, { ...file, content: 'y' }])
    expect(await filesOf(id)).toEqual([['a.md', 'y']])
  })
})
