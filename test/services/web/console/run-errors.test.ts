import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLlmConnection } from '../../../../services/platform/connections/llm-connections.ts'
import { failRun, takeRuns } from '../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import { openPlatform } from '../support/platform.ts'
import type { SignedInUser, Platform } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})

afterAll(() => platform.close())

/** The error on the page of a run that failed so. */
async function errorOf(code: string, message: string): Promise<string> {
  const { sql, app, acme } = platform
  const id = await kickoff(sql, { deploymentId: acme.research.id, inputs: { topic: 'tides' } })
  const [taken] = await takeRuns(sql, 1)
  if (!taken) throw new Error('the run was not taken')
  await failRun(sql, taken, { code, message })
  const path = `/automations/${acme.research.automationId}/executions/${id}`
  const page = await (await app.request(path, { headers: { cookie: ada.cookie } })).text()
  return (/<section class="card failed"[^]*?<\/section>/.exec(page)?.[0] ?? '').replace(/\s+/g, ' ')
}

describe('the error of a run', () => {
  it('leads to the LLM connection that it names, and says what to do', async () => {
    const { sql, acme, rival } = platform
    const fields = { provider: 'openai', model: 'm', baseUrl: null, name: 'Team gateway' }
    await createLlmConnection(sql, { ...fields, organizationId: rival.organizationId })
    const { id } = await createLlmConnection(sql, {
      ...fields,
      organizationId: acme.organizationId,
    })
    const error = await errorOf(
      'llm_rejected',
      'The model at x refused the call with HTTP 401. ' +
        'Check the key of the LLM connection "Team gateway".',
    )
    expect(error).toContain(`<a href="/llm-connections/${id}">LLM connection Team gateway</a>`)
    expect(error).toContain('With HTTP 401 or 403 enter the key of the LLM connection again')
  })

  it('has no advice for a code that only the crew knows', async () => {
    const error = await errorOf('tides_unknown', 'No tides today.')
    expect(error).toContain('No tides today.')
    expect(error).not.toContain('class="hint"')
  })
})
