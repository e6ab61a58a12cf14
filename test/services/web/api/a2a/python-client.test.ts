import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { completeRun, takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { freePort } from '../../../../support/free-port.ts'
import { until } from '../../../../support/until.ts'
import { openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'

const PROGRAM = new URL('client.py', import.meta.url).pathname
const PYTHON = process.env['A2A_PYTHON'] ?? 'python3'
const hasSdk = spawnSync(PYTHON, ['-c', 'import a2a.client, a2a.utils.signing']).status === 0
if (!hasSdk) {
  console.log(
    'A2A was not called from Python: install a2a-sdk[http-server,signing] 1.3, and name its ' +
      'interpreter in A2A_PYTHON.',
  )
}

describe.runIf(hasSdk)('the official client for Python', () => {
  let stage: PlatformWithOauth
  let agent: string
  beforeAll(async () => {
    stage = await openPlatformWithOauth()
    const port = await freePort()
    const base = `http://127.0.0.1:${port}`
    await stage.serve({ PORT: String(port), PLATFORM_BASE_URL: base })
    agent = `${base}/platform/api/v1/crew/${stage.acme.research.automationId}/a2a`
  })
  afterAll(() => stage.close())

  it('verifies cards, follows, lists and cancels tasks, by both bindings', async () => {
    const tokens = [await stage.issueToken(stage.acme), await stage.issueToken(stage.acme)]
    const env = { ...process.env, AGENT: agent, TOKENS: tokens.join(',') }
    const program = promisify(execFile)(PYTHON, [PROGRAM], { env })
    let isOver = false
    void program.finally(() => (isOver = true)).catch(() => {})
    await until(async () => {
      for (const run of await takeRuns(stage.sql, 1)) {
        if (run.inputs['topic'] !== 'tides') continue
        await completeRun(stage.sql, run, {
          output: 'The moon.',
          usage: { inputTokens: 1, outputTokens: 1 },
        })
      }
      return isOver
    })
    const called: unknown = JSON.parse((await program).stdout)
    const expected = {
      name: 'acme research',
      canceled: 'TASK_STATE_CANCELED',
      listed: [2, 1],
      error: 'TaskNotFoundError',
    }
    expect(called).toMatchObject([expected, expected])
    const text = JSON.stringify(called)
    for (const said of ['"text":"The moon."', 'TASK_STATE_COMPLETED']) {
      expect(text.split(said)).toHaveLength(3)
    }
  })
})
