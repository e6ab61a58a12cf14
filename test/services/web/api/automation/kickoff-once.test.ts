import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../../../services/shared/log.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { start } from '../../../../../services/web/start.ts'
import { startDatabaseProxy } from '../../../../support/database-proxy.ts'
import { freePort } from '../../../../support/free-port.ts'
import { programPath } from '../../../../support/program.ts'
import { until } from '../../../../support/until.ts'
import { openPlatform, environment, readObject } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

let platform: Platform
let replicas: Service[]
let child: ChildProcess | undefined

beforeAll(async () => {
  platform = await openPlatform()
  const log = createLog({ name: 'web', level: 'silent' })
  replicas = await Promise.all(
    [1, 2].map(() => start(environment(platform.url), { log, lingerMs: 0 })),
  )
})

beforeEach(async () => {
  await platform.sql`delete from executions`
})

afterEach(() => child?.kill('SIGKILL'))

afterAll(async () => {
  await Promise.all(replicas.map((each) => each.stop()))
  await platform.close()
})

interface Kickoff {
  readonly key: string
  readonly topic?: string
  readonly automationId?: string
  readonly token: string
}

function kickoff(url: string, { key, topic = 'whales', token, automationId }: Kickoff) {
  return fetch(
    `${url}/platform/api/v1/crew/${automationId ?? platform.acme.research.automationId}/kickoff`,
    {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ inputs: { topic } }),
    },
  )
}

const idOf = async (response: Response) => String((await readObject(response))['kickoff_id'])
const runs = async () => {
  const rows = await platform.sql<{ id: string }[]>`select id from executions`
  return rows.map(({ id }) => id)
}

describe('a kickoff with an Idempotency-Key (SPEC 4.4)', () => {
  it('starts one run, however many send it at once to however many replicas', async () => {
    const token = await platform.issueToken(platform.acme)
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        kickoff(replicas[index % 2]?.url ?? '', { key: 'order-1', token }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    const ids = new Set(await Promise.all(answers.map(idOf)))
    expect(ids.size).toBe(1)
    expect(await runs()).toEqual([...ids])
  })

  it('is one of its automation: the same key elsewhere starts another run', async () => {
    const [url = ''] = replicas.map((each) => each.url)
    const ours = await platform.issueToken(platform.acme)
    const theirs = await platform.issueToken(platform.rival)
    const { automationId } = platform.rival.research
    const first = await idOf(await kickoff(url, { key: 'order-2', token: ours }))
    const second = await idOf(await kickoff(url, { key: 'order-2', token: theirs, automationId }))
    expect(second).not.toBe(first)
    const other = await kickoff(url, { key: 'order-2', token: theirs, automationId, topic: 'owls' })
    expect(other.status).toBe(422)
    expect((await runs()).sort()).toEqual([first, second].sort())
  })

  it('gets the same run again if its replica is killed between commit and response', async () => {
    const token = await platform.issueToken(platform.acme)
    const proxy = await startDatabaseProxy(platform.url, () => child?.kill('SIGKILL'))
    const port = String(await freePort())
    const env = { ...environment(proxy.url), PORT: port, LOG_LEVEL: 'silent' }
    child = spawn(process.execPath, [programPath('web')], {
      env,
      stdio: 'inherit',
    })
    const url = `http://127.0.0.1:${port}`
    await until(async () => (await fetch(`${url}/health`).catch(() => undefined))?.status === 200)
    proxy.cutWhen((answer) => answer.includes('COMMIT\0'))
    await expect(kickoff(url, { key: 'order-3', token })).rejects.toThrow()
    const [committed] = await runs()
    expect(committed).toBeDefined()
    const again = await kickoff(replicas[0]?.url ?? '', { key: 'order-3', token })
    expect(again.status).toBe(202)
    expect(await idOf(again)).toBe(committed)
    expect(await runs()).toHaveLength(1)
    await proxy.close()
  })
})
