import { afterAll, beforeAll, expect, it } from 'vitest'
import { isLong } from '../../../../support/long.ts'
import { readObject } from '../../support/platform.ts'
import { newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

const CALLS = isLong ? 10_000 : 200
const AT_ONCE = 50
const QUEUED = 20
const MINUTE = 100

let stage: PlatformWithOauth

beforeAll(async () => {
  stage = await openPlatformWithOauth()
})
afterAll(() => stage.close())

async function ask(url: string, bearer: string, message: object) {
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    headers: { ...newCaller(bearer), 'content-type': 'application/json' },
  })
  return { status: answer.status, text: JSON.stringify(await readObject(answer)) }
}

/** Sends as many calls of a tool as there are, some of them at a time. */
async function callOften(url: string, bearer: string): Promise<{ status: number; text: string }[]> {
  const params = { name: 'acme-digest', arguments: {}, task: {} }
  const answers: { status: number; text: string }[] = []
  let left = CALLS
  const send = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      answers.push(await ask(url, bearer, { method: 'tools/call', params }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, send))
  return answers
}

it('a client that calls and calls fills its queue, and no one else waits for it', async () => {
  const unlimited = { TOKEN_CALLS_PER_MINUTE: '0', ORGANIZATION_CALLS_PER_MINUTE: '0' }
  const { url } = await stage.serve({ ...unlimited, QUEUED_RUNS_MAX: String(QUEUED) })
  const bearer = await stage.issueToken(stage.acme)
  const rival = await stage.issueToken(stage.rival)
  const calling = callOften(url, bearer)
  const listed = await ask(url, rival, { method: 'tools/list' })
  const answers = await calling
  expect(listed).toMatchObject({ status: 200, text: expect.stringContaining('rival-digest') })
  const started = answers.filter(({ text }) => text.includes('"taskId"'))
  const full = answers.filter(({ text }) => text.includes('queue_full'))
  expect([started.length, full.length]).toEqual([QUEUED, CALLS - QUEUED])
  expect(await stage.sql`select from executions`).toHaveLength(QUEUED)
}, 300_000)

it('a client that calls more often than it may is told when it may again', async () => {
  await stage.sql`delete from executions`
  const { url } = await stage.serve({ TOKEN_CALLS_PER_MINUTE: String(MINUTE) })
  const answers = await callOften(url, await stage.issueToken(stage.acme))
  const refused = answers.filter(({ status }) => status === 429)
  // Another minute may begin in between.
  const [{ minutes }] = await stage.sql<[{ minutes: number }]>`
    select ceil(count(*) / ${MINUTE}::numeric)::int as minutes from executions`
  expect(refused.length).toBeGreaterThanOrEqual(CALLS - MINUTE * (minutes + 1))
  expect(refused[0]?.text).toContain('with this token')
}, 300_000)
