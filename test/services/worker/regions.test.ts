import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLlmConnection } from '../../../services/platform/connections/llm-connections.ts'
import { saveAllowedRegions } from '../../../services/platform/connections/regions.ts'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { ensureOrganization } from '../../../services/platform/people/organizations.ts'
import {
  createWebhookKeys,
  createWebhookSecret,
} from '../../../services/platform/webhooks/webhook-keys.ts'
import {
  listDeliveries,
  sendTestMessage,
} from '../../../services/platform/webhooks/webhook-deliveries.ts'
import { takeHead, takeLines } from '../../../services/platform/webhooks/webhook-outbox.ts'
import {
  createWebhook,
  findWebhook,
  resumeWebhook,
  updateWebhook,
} from '../../../services/platform/webhooks/webhooks.ts'
import { performAlone } from '../../../services/worker/evaluations/perform-alone.ts'
import { resolveConnections } from '../../../services/worker/run/resolve-connections.ts'
import { resolveModels } from '../../../services/worker/run/resolve-models.ts'
import { startWebhookSender } from '../../../services/worker/webhooks/sender.ts'
import { judgeCrew } from '../../../services/platform/evaluations/judge-crew.ts'
import { ownCrewDefinition } from '../../../services/platform/definitions/own-crew-definition.ts'
import { definition } from '../../support/crew.ts'
import { startHttpServer } from '../../support/http-server.ts'
import { guardFor } from '../../support/outgoing.ts'
import { until } from '../../support/until.ts'
import { says } from '../crew/fake-model.ts'
import { openWorker, SECRET_KEY_BASE, silent } from './harness.ts'
import { createFileHandover } from '../../../services/worker/run/hand-files.ts'

const { platform, model, deploy, publish } = await openWorker()
const { sql, automation } = platform
const { organizationId } = automation
const allow = (...regions: readonly string[]) => saveAllowedRegions(sql, organizationId, regions)

beforeEach(() => sql`delete from llm_connections`)
afterEach(() => allow())

const connect = (region: string | null, name = 'main') =>
  createLlmConnection(sql, {
    organizationId,
    name,
    provider: 'openai_compatible',
    model: 'test-model',
    baseUrl: model.baseUrl,
    region,
  })

const deps = {
  sql,
  secretKeyBase: SECRET_KEY_BASE,
  readVariable: () => undefined,
  crewPatienceMs: 100,
  log: silent,
  prices: [],
  handFiles: createFileHandover(sql),
}
const { signal } = new AbortController()

describe('a run under a rule on regions', () => {
  it('fails with credentials of the platform, and is done by a connection inside', async () => {
    await deploy({ LLM_PRIVATE_ORIGINS: new URL(model.baseUrl).origin })
    await platform.startWorker()
    await allow('eu')
    const refused = await platform.until(await platform.kickoff(), 'error')
    expect(refused.error).toMatchObject({ code: 'region_not_allowed' })
    expect(refused.error?.message).toContain(
      'stays in eu, and the version is outside: the model test-model has no LLM connection',
    )
    expect(model.requests).toHaveLength(0)
    await connect('us', 'a first')
    await connect('eu', 'b second')
    model.play(says('Facts.'), says('A summary.'))
    await platform.until(await platform.kickoff(), 'completed')
    expect(model.requests).toHaveLength(2)
    // The rule comes after the version was published.
    await allow('ca')
    const later = await platform.until(await platform.kickoff(), 'error')
    expect(later.error).toMatchObject({ code: 'region_not_allowed' })
    expect(model.requests).toHaveLength(2)
  })

  it('fails for its tools, whether a model is inside or not', async () => {
    const [agent, ...agents] = definition.agents
    const crew = parseCrewDefinition({
      ...definition,
      agents: [{ ...agent, tools: ['pages'] }, ...agents],
      tools: { pages: { type: 'fetch', allow: ['example.com'] } },
    })
    await connect('eu')
    await allow('eu')
    await publish(crew)
    await deploy()
    await platform.startWorker()
    const run = await platform.until(await platform.kickoff(), 'error')
    expect(run.error?.message).toContain('the tool pages reads web pages')
    expect(model.requests).toHaveLength(0)
  })

  it.each([
    [null, 'uses the connection crm, which says no region'],
    ['us', 'uses the connection crm, which is in us'],
  ])('gets no token of a connection of the region %s', async (region, why) => {
    await sql`delete from oauth_connections`
    await sql`
      insert into oauth_connections (organization_id, provider, name, region)
      values (${organizationId}, 'token', 'crm', ${region})`
    const crm = { type: 'mcp', url: 'https://crm.example/', tools: ['find'], connection: 'crm' }
    const crew = { ...definition, tools: { crm } } as typeof definition
    const run = { id: randomUUID(), organizationId, definition: crew, allowedRegions: ['eu'] }
    const found = await resolveConnections(deps, run, signal)
    expect(found).toMatchObject({ failure: { code: 'region_not_allowed' } })
    expect(JSON.stringify(found)).toContain(why)
    // Without an OAuth service there is no token, which says that the rule let it pass.
    const free = await resolveConnections(deps, { ...run, allowedRegions: [] }, signal)
    expect(free).toMatchObject({ failure: { code: 'connection_unusable' } })
  })

  it('hands a crew from source the connections inside alone', async () => {
    await connect('us', 'a first')
    await connect('eu', 'b second')
    await allow('eu')
    const own = { organizationId, definition: ownCrewDefinition({ name: 'Own', inputs: [] }) }
    expect(await resolveModels(deps, own)).toMatchObject({ names: { 'test-model': 'b second' } })
    await allow('ca')
    expect(await resolveModels(deps, own)).toEqual({ names: {}, allowedRegions: ['ca'] })
  })

  it('holds evaluations and their judges', async () => {
    await connect('us')
    await allow('eu')
    for (const crew of [definition, judgeCrew('test-model')]) {
      const alone = {
        id: randomUUID(),
        organizationId,
        definition: crew,
        versionId: 0,
        inputs: {},
        url: 'http://127.0.0.1:9',
        crewAutomationId: automation.automationId,
      }
      const signals = { pause: signal, drain: signal }
      const { ending } = await performAlone(deps, alone, { signals, timeoutMs: 5000 })
      expect(ending).toMatchObject({ failure: { code: 'region_not_allowed' } })
    }
  })
})

describe('a webhook under a rule on regions', () => {
  const keys = createWebhookKeys(SECRET_KEY_BASE)

  it('is paused with the reason, keeps its messages, and is sent again once inside', async () => {
    let heard = 0
    const receiver = await startHttpServer((_, response) => {
      heard += 1
      response.writeHead(204).end()
    })
    const key = { id: randomUUID(), deploymentId: automation.id }
    const fields = { url: `${receiver.url}/`, eventTypes: ['*'], format: 'standard' } as const
    const sealedKey = keys.seal(createWebhookSecret(), key)
    const webhook = await createWebhook(sql, { ...key, ...fields, region: 'us', sealedKey })
    await allow('eu')
    const ofOther = await ensureOrganization(sql, { name: 'Rival' })
    await saveAllowedRegions(sql, ofOther.id, ['us'])
    await sendTestMessage(sql, { webhookId: webhook.id, automationId: automation.automationId })
    const sender = startWebhookSender({
      sql,
      log: silent,
      guard: guardFor(receiver.url),
      secretKeyBase: SECRET_KEY_BASE,
      onAttempt: () => {},
    })
    await until(async () => (await findWebhook(sql, webhook))?.pausedAt !== null)
    expect(await findWebhook(sql, webhook)).toMatchObject({
      pauseReason: expect.stringContaining('its region must be one of eu') as string,
    })
    const message = async () => (await listDeliveries(sql, webhook.id, { limit: 1 })).items[0]
    await until(async () => (await message())?.attempts === 1)
    expect(await message()).toMatchObject({ state: 'waiting' })
    expect(heard).toBe(0)
    await updateWebhook(sql, webhook, { ...fields, region: 'eu' })
    await resumeWebhook(sql, webhook)
    sender.wake()
    await until(async () => heard === 1)
    await sender.stop(1000)
    await receiver.stop()
    const [line] = await takeLines(sql, { limit: 1, leaseSeconds: 1 })
    expect(line && (await takeHead(sql, line, 1))).toBeUndefined()
  })
})
