import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import type { Starter } from '../../../../../services/platform/runs/runs.ts'
import { createHarness, SECRET } from '../../../collector/support/harness.ts'
import type { Harness } from '../../../collector/support/harness.ts'
import { spanOf } from '../../../collector/support/otlp.ts'
import { readObject } from '../../support/platform.ts'
import type { Tenant } from '../../support/platform.ts'
import { CLIENT, newCaller, openPlatformWithOauth } from '../../support/platform-with-oauth.ts'
import type { PlatformWithOauth } from '../../support/platform-with-oauth.ts'
import { sendTo } from '../../support/traces.ts'
import { openNewClient, openOldClient } from './mcp-clients.ts'

let stage: PlatformWithOauth
let collector: Harness
let base: string
let url: string

beforeAll(async () => {
  const parts = await Promise.all([openPlatformWithOauth(), createHarness()])
  ;[stage, collector] = parts
  base = (await serveWith(collector.collector.url)).url
  url = `${base}/mcp`
})
beforeEach(() => stage.sql`delete from executions`)
afterAll(async () => {
  await stage.close()
  await collector.stop()
})

const serveWith = (collectorUrl: string) =>
  stage.serve({ COLLECTOR_URL: collectorUrl, COLLECTOR_JWT_SECRET: SECRET })

const issue = async ({ organizationId }: Tenant, deploymentId: number | null = null) => {
  const token = { organizationId, deploymentId, name: 'mcp', createdBy: null }
  const { id, secret } = await createStaticToken(stage.sql, token)
  return { secret, starter: { trigger: 'api', id: `token:${id}`, name: 'mcp' } as const }
}

/** Queues a run as a call of that token does. */
const startRun = (
  { id: deploymentId }: { readonly id: number },
  { starter }: { readonly starter: Starter },
): Promise<string> => kickoff(stage.sql, { deploymentId, inputs: {}, starter })

const uriOf = (runId: string): string => `run://${runId}/trace`
const traceIdOf = (runId: string): string => runId.replaceAll('-', '')

interface Asked {
  readonly method: string
  readonly params?: object
  readonly headers?: Record<string, string>
  readonly to?: string
}

const ask = async (secret: string, { method, params = {}, headers, to = url }: Asked) => {
  const answer = await fetch(to, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    headers: { ...newCaller(secret), 'content-type': 'application/json', ...headers },
  })
  const body: Record<string, unknown> = await readObject(answer)
  return { ...body, status: answer.status, result: body['result'] }
}

const read = (secret: string, uri: unknown, to = url) =>
  ask(secret, { method: 'resources/read', params: { uri }, to })
const LIST = { method: 'resources/list' }

describe.each([
  ['with sessions', openOldClient],
  ['of 2026-07-28', openNewClient],
])('the official client %s', (_, open) => {
  it('lists the traces of the runs that its token started, newest first', async () => {
    const token = await issue(stage.acme)
    const first = await startRun(stage.acme.digest, token)
    const second = await startRun(stage.acme.research, token)
    const client = await open(url, token.secret)
    expect(await client.listResources()).toMatchObject([
      { uri: uriOf(second), mimeType: 'application/json' },
      { uri: uriOf(first), mimeType: 'application/json' },
    ])
    await client.close()
  })

  it('reads one, with what is known of each span', async () => {
    const token = await issue(stage.acme)
    const runId = await startRun(stage.acme.digest, token)
    const traceId = traceIdOf(runId)
    const root = spanOf({ traceId, name: 'digest' })
    const child = spanOf({ traceId, name: 'write', parentSpanId: root.spanId ?? '' })
    await sendTo(collector.collector.url, stage.acme, { spans: [root, child] })
    const client = await open(url, token.secret)
    const [text] = await client.readResource(uriOf(runId))
    const document: unknown = JSON.parse(String(text))
    expect(document).toMatchObject({
      automation: 'acme-digest',
      kickoff_id: runId,
      status: 'queued',
      trace_id: traceId,
      truncated: false,
    })
    const byName = expect.arrayContaining([
      expect.objectContaining({ name: 'digest', span_id: root.spanId }),
      expect.objectContaining({ name: 'write', parent_span_id: root.spanId }),
    ])
    expect(document).toMatchObject({ spans: byName })
    await client.close()
  })

  it('learns that there is no such resource', async () => {
    const client = await open(url, (await issue(stage.acme)).secret)
    const unknown = client.readResource(uriOf('00000000-0000-4000-8000-000000000000'))
    await expect(unknown).rejects.toMatchObject({
      code: -32_602,
      data: { uri: uriOf('00000000-0000-4000-8000-000000000000') },
    })
    await client.close()
  })
})

describe('the list', () => {
  it('has pages, over which each run is there once', async () => {
    const token = await issue(stage.acme)
    await stage.sql`
      insert into executions (deployment_id, inputs, trigger, starter_id, starter_name)
      select ${stage.acme.digest.id}, '{}', 'api', ${token.starter.id}, 'mcp'
      from generate_series(1, 120)`
    const client = await openNewClient(url, token.secret)
    const uris = (await client.listResources()).map(({ uri }) => uri)
    expect(new Set(uris).size).toBe(120)
    expect(uris).toHaveLength(120)
    await client.close()
  })

  it('takes no cursor but its own', async () => {
    const { acme } = stage
    const [token, other] = [await issue(acme), await issue(acme)]
    const foreign = await startRun(acme.digest, other)
    for (const cursor of [foreign, 'x', '', 7, null, `${foreign}' or true --`]) {
      const answer = await ask(token.secret, { ...LIST, params: { cursor } })
      expect(answer).toMatchObject({ status: 200, error: { code: -32_602 } })
    }
  })

  it('has a template for an id that is known', async () => {
    const { secret } = await issue(stage.acme)
    expect(await ask(secret, { method: 'resources/templates/list' })).toMatchObject({
      result: { resourceTemplates: [{ uriTemplate: 'run://{kickoff_id}/trace' }] },
    })
  })

  it('has the runs of one automation at its address, for an OAuth client too', async () => {
    const { acme } = stage
    const starter = { trigger: 'api', id: `client:${CLIENT}`, name: CLIENT } as const
    const own = await startRun(acme.research, { starter })
    await startRun(acme.research, await issue(acme))
    const one = `${base}/platform/api/v1/crew/${acme.research.automationId}/mcp`
    const { result } = await ask(stage.token(), { ...LIST, to: one })
    expect(result).toEqual({ resources: [expect.objectContaining({ uri: uriOf(own) })] })
  })
})

describe('two callers', () => {
  it('never see the traces of each other', async () => {
    const { acme, rival } = stage
    const callers = [
      { token: await issue(acme), automations: [acme.digest, acme.research] },
      { token: await issue(acme), automations: [acme.digest, acme.research] },
      { token: await issue(acme, acme.digest.id), automations: [acme.digest] },
      { token: await issue(rival), automations: [rival.digest] },
    ]
    const who = fc.nat({ max: callers.length - 1 })
    await fc.assert(
      fc.asyncProperty(fc.array(who, { maxLength: 6 }), async (starts) => {
        await stage.sql`delete from executions`
        const started: { by: number; uri: string }[] = []
        for (const [n, by] of starts.entries()) {
          const { token, automations = [] } = callers[by] ?? {}
          const automation = automations[n % automations.length]
          if (!token || !automation) throw new Error('no caller')
          started.push({ by, uri: uriOf(await startRun(automation, token)) })
        }
        for (const [index, { token }] of callers.entries()) {
          const own = started.filter(({ by }) => by === index).map(({ uri }) => uri)
          const listed = JSON.stringify(await ask(token.secret, LIST))
          expect([...listed.matchAll(/"uri":"([^"]+)"/g)].map(([, uri]) => uri)).toEqual(
            own.toReversed(),
          )
          const foreign = started.find(({ by }) => by !== index)
          if (foreign) expect(await read(token.secret, foreign.uri)).toEqual(notFound(foreign.uri))
        }
      }),
      { numRuns: 8 },
    )
  })
})

const notFound = (uri: string) => ({
  status: 200,
  result: undefined,
  jsonrpc: '2.0',
  id: 1,
  error: {
    code: -32_602,
    message: 'There is no such resource. resources/list has those that are.',
    data: { uri },
  },
})

describe('an address', () => {
  it('that is none is the same error as an unknown one', async () => {
    const token = await issue(stage.acme)
    const runId = await startRun(stage.acme.digest, token)
    const hostile = [
      '',
      'run://',
      `run://${runId}`,
      `run://${runId}/trace/`,
      `run://${runId}/trace?view=otlp`,
      `run://${runId}/../${runId}/trace`,
      `run://${runId.toUpperCase()}/trace`,
      `run://${runId}%00/trace`,
      `run://${traceIdOf(runId)}/trace`,
      `RUN://${runId}/trace`,
      ` run://${runId}/trace`,
      `run://${runId}/trace\n`,
      `run://${runId}' or '1'='1/trace`,
      'file:///etc/passwd',
      'http://169.254.169.254/latest',
    ]
    for (const uri of hostile) expect(await read(token.secret, uri)).toEqual(notFound(uri))
    for (const uri of [undefined, null, 7, [uriOf(runId)], { toString: uriOf(runId) }]) {
      expect(await read(token.secret, uri)).toEqual(notFound(''))
    }
    const long = 'x'.repeat(200_000)
    expect(await read(token.secret, long)).toEqual(notFound(long.slice(0, 200)))
  })

  it('in the header has to be the one of the message', async () => {
    const { secret } = await issue(stage.acme)
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const method = 'resources/read'
    const answer = await ask(secret, {
      method,
      params: { uri: 'run://a/trace', _meta },
      headers: {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': 'run://b/trace',
      },
    })
    expect(answer).toMatchObject({ status: 400, error: { code: -32_020 } })
  })
})

describe('a trace', () => {
  it('that has no span yet is an error that says when to ask again', async () => {
    const token = await issue(stage.acme)
    const runId = await startRun(stage.acme.digest, token)
    expect(await read(token.secret, uriOf(runId))).toMatchObject({
      status: 200,
      error: {
        code: -32_603,
        message: `The run ${runId} is queued, and no span of it is there yet. Read it again later.`,
      },
    })
    await stage.sql`update executions set status = 'stopped', finished_at = now()`
    expect(JSON.stringify(await read(token.secret, uriOf(runId)))).toContain('its retention')
  })

  it('cannot be read while the collector is down, and that is what it says', async () => {
    const token = await issue(stage.acme)
    const runId = await startRun(stage.acme.digest, token)
    const { url: alone } = await serveWith('http://127.0.0.1:9')
    expect(await read(token.secret, uriOf(runId), `${alone}/mcp`)).toMatchObject({
      status: 200,
      error: { code: -32_603, message: expect.stringContaining('collector does not answer') },
    })
  })

  it('is shortened where it has more than 1,000 spans', async () => {
    const token = await issue(stage.acme)
    const runId = await startRun(stage.acme.digest, token)
    const spans = Array.from({ length: 1001 }, () => spanOf({ traceId: traceIdOf(runId) }))
    await sendTo(collector.collector.url, stage.acme, { spans })
    const client = await openNewClient(url, token.secret)
    const [text] = await client.readResource(uriOf(runId))
    const document = JSON.parse(String(text)) as { spans: unknown[]; truncated: boolean }
    expect([document.spans.length, document.truncated]).toEqual([1000, true])
    await client.close()
  })

  it('is no resource where there is no collector', async () => {
    const { secret } = await issue(stage.acme)
    const to = `${stage.service.url}/mcp`
    const { result } = await ask(secret, { method: 'initialize', to })
    expect(result).not.toHaveProperty('capabilities.resources')
    expect(await ask(secret, { ...LIST, to })).toMatchObject({ error: { code: -32_601 } })
  })
})
