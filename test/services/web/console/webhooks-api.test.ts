import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  path = `/automations/${platform.acme.research.automationId}/webhooks`
})

afterAll(() => platform.close())

describe('the webhooks of an automation, over the API', () => {
  const issue = (scopes: readonly ('design' | 'settings')[]) =>
    issueStaticToken(platform.sql, {
      organizationId: platform.acme.organizationId,
      deploymentId: null,
      name: 'API',
      createdBy: platform.acme.userId,
      scopes,
    })
  const call = async (token: string, request: string, body?: unknown) => {
    const [method = '', at = ''] = request.split(' ')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const text = body === undefined ? null : JSON.stringify(body)
    return platform.app.request(at, { method, headers, body: text })
  }
  const hook = { url: 'https://crm.example.com/hooks', event_types: ['run_failed', 'llm_call'] }

  it('take the scope for settings, which reads as well; that to design reads alone', async () => {
    const settings = await issue(['settings'])
    const designer = await issue(['design'])
    const base = `/designer/v2${path}`
    expect((await call(designer, `POST ${base}`, hook)).status).toBe(403)
    const created = await call(settings, `POST ${base}`, hook)
    expect(created.status).toBe(201)
    const at = created.headers.get('location') ?? ''
    expect((await call(designer, `GET ${at}`)).status).toBe(200)
    expect((await call(settings, `GET ${at}`)).status).toBe(200)
    expect((await call(designer, `POST ${at}/key`)).status).toBe(403)
    expect((await call(settings, `POST ${base.replace('webhooks', 'schedules')}`)).status).toBe(403)
  })

  it('show a key when it is made, and never again', async () => {
    const token = await issue(['settings'])
    const created = await call(token, `POST /designer/v2${path}`, hook)
    const at = created.headers.get('location') ?? ''
    expect(await readObject(created)).toMatchObject({
      ...hook,
      key: expect.stringMatching(/^whsec_/),
    })
    for (const request of [`GET ${at}`, `POST ${at}/pause`, `POST ${at}/test`]) {
      expect(await readObject(await call(token, request))).not.toHaveProperty('key')
    }
    expect(await readObject(await call(token, `POST ${at}/key`))).toMatchObject({
      key: expect.stringMatching(/^whsec_/),
      previous_key_until: expect.any(String),
    })
  })

  it('refuse addresses inside the network, as their form does', async () => {
    const inside = { ...hook, url: 'https://10.0.0.1/' }
    const answer = await call(await issue(['settings']), `POST /designer/v2${path}`, inside)
    expect(answer.status).toBe(422)
    expect(String((await readObject(answer))['message'])).toContain('has no public address')
  })
})
