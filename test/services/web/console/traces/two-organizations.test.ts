import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  listTraceFilters,
  saveTraceFilter,
} from '../../../../../services/platform/traces/trace-filters.ts'
import { saveTraceScoreRule } from '../../../../../services/platform/evaluations/trace-scores.ts'
import { createTraceForward } from '../../../../../services/platform/traces/trace-forwards.ts'
import { recordTraceToken } from '../../../../../services/platform/traces/trace-tokens.ts'
import type { KeyValue, OtlpSpan } from '../../../collector/support/otlp.ts'
import { few } from '../../../../support/long.ts'
import { idOf } from '../../support/example-trace.ts'
import type { Tenant } from '../../support/platform.ts'
import { freshTraceId, openTracedApp } from '../../support/traces.ts'
import type { TracedApp } from '../../support/traces.ts'

const ABOUT_TRACES = /^\/(trace|session|usage)/

const text = (key: string, stringValue: string): KeyValue => ({ key, value: { stringValue } })

/** A trace in which everything that can be read says whose it is. */
const traceOf = (whose: string, traceId: string): OtlpSpan => ({
  traceId,
  spanId: idOf(1),
  name: `name ${whose}`,
  startTimeUnixNano: `${BigInt(Date.now() - 60_000) * 1_000_000n}`,
  endTimeUnixNano: `${BigInt(Date.now() - 59_000) * 1_000_000n}`,
  attributes: [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.request.model', `model ${whose}`),
    text('session.id', `session-${whose}`),
    text('user.id', `user ${whose}`),
    text(
      'gen_ai.output.messages',
      JSON.stringify([
        { role: 'assistant', parts: [{ type: 'text', content: `answer ${whose}` }] },
      ]),
    ),
  ],
})

describe('two organizations', () => {
  let traced: TracedApp
  const [own, shared] = [freshTraceId(), freshTraceId()]
  const others = freshTraceId()
  let filterId = 0
  let scoreRuleId = 0
  let traceTokenId: string
  const traceForwardId = randomUUID()

  beforeAll(async () => {
    traced = await openTracedApp()
    const { acme, rival, sql } = traced.platform
    await traced.send(acme, [traceOf('acmesecret', own)])
    await traced.send(acme, [traceOf('acmesecret', shared)])
    await traced.send(rival, [traceOf('rivalword', shared)])
    await traced.send(rival, [traceOf('rivalword', others)])
    await traced.collector.rolledUp()
    await traced.collector.extracted()
    const owner = { id: acme.userId, organizationId: acme.organizationId }
    await saveTraceFilter(sql, owner, { name: 'filter acmesecret', query: 'session=acmesecret' })
    filterId = (await listTraceFilters(sql, owner))[0]?.id ?? 0
    const token = { name: 'token acmesecret', scope: 'traces:write', days: 9 } as const
    const ofOwner = { organizationId: acme.organizationId, createdBy: acme.userId }
    ;({ id: traceTokenId } = await recordTraceToken(sql, { ...token, ...ofOwner }))
    const forward = { name: 'forward acmesecret', endpoint: 'https://acmesecret.example.com' }
    const rest = { share: 100, services: [], region: null, sealedHeaders: null }
    const key = { id: traceForwardId, organizationId: acme.organizationId }
    await createTraceForward(sql, { ...key, ...forward, ...rest })
    const rule = { share: 0, service: 'service acmesecret', checks: [] }
    await saveTraceScoreRule(sql, acme.organizationId, rule)
    scoreRuleId = acme.organizationId
  })

  afterAll(() => traced.close())

  /** Every address about traces that is mounted, with the ids of one organization in it. */
  function paths(): string[] {
    const mounted = traced.app.routes.filter(
      ({ method, path }) => method === 'GET' && ABOUT_TRACES.test(path),
    )
    const values: Record<string, readonly string[]> = {
      traceId: [own, shared],
      spanId: [idOf(1)],
      id: [String(filterId)],
      traceTokenId: [traceTokenId],
      traceForwardId: [traceForwardId],
      traceScoreRuleId: [String(scoreRuleId)],
    }
    const filled = [...new Set(mounted.map(({ path }) => path))].flatMap((path) => {
      let all = [path]
      for (const [parameter = '', name = ''] of path.matchAll(/:(\w+)/g)) {
        const list = values[name]
        if (!list) throw new Error(`${path}: give this test a value for ${parameter}`)
        all = all.flatMap((each) => list.map((value) => each.replace(parameter, value)))
      }
      return all
    })
    const both = `trace=${own}&trace=${shared}`
    const session = 'session=session-acmesecret&id=session-acmesecret'
    const queries = [
      '',
      `?window=all&${session}&q=acmesecret` + `&by=user&days=91&${both}`,
      `?window=all&text=acmesecret&by=model&trace=${shared}&trace=${own}`,
      `?trace=${shared}&trace=${shared}&q=answer&span=${idOf(1)}`,
    ]
    return filled.flatMap((path) => {
      if (path.endsWith('-events')) return path
      const some = path.startsWith('/traces/') ? queries.slice(0, 2) : few(queries, 2)
      return some.map((query) => path + query)
    })
  }

  const bodyOf = async (tenant: Tenant, path: string): Promise<string> => {
    const answer = await traced.get(tenant, path)
    const location = answer.headers.get('location')
    if (location?.startsWith('/traces/')) return bodyOf(tenant, location)
    if (answer.headers.get('content-type') !== 'text/event-stream') return answer.text()
    return tailOf(answer, tenant)
  }

  /** Reads events until those of this organization have come. */
  async function tailOf({ body }: Response, tenant: Tenant): Promise<string> {
    const { acme, rival } = traced.platform
    await traced.send(acme, [traceOf('acmesecret', freshTraceId())])
    await traced.send(rival, [traceOf('rivalword', freshTraceId())])
    const word = tenant === acme ? 'acmesecret' : 'rivalword'
    let text = ''
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString()
      if (text.includes(word)) break
    }
    return text
  }

  it('see nothing of each other on any page, export, search, total or live list', async () => {
    const { acme, rival } = traced.platform
    const shown = new Set<string>()
    const check = async (path: string): Promise<void> => {
      const [theirs, mine] = await Promise.all([bodyOf(rival, path), bodyOf(acme, path)])
      // What was asked for is shown again in the fields of a form.
      const asked = theirs.replaceAll(/value="[^"]*"|href="[^"]*"|“[^”]*”/g, '')
      expect([path, asked.includes('acmesecret')]).toEqual([path, false])
      if (!path.includes('acmesecret')) expect(theirs, path).not.toContain('acmesecret')
      expect(mine, path).not.toContain('rivalword')
      if (mine.includes('acmesecret')) shown.add(path.split('?')[0] ?? '')
    }
    for (const path of paths()) await check(path)
    const found = await bodyOf(rival, `/traces/${shared}/search?q=acmesecret`)
    expect(JSON.parse(found)).toEqual({ ids: [], isComplete: true })
    // The test would prove nothing of an address that shows nothing to anybody.
    const silent = new Set(paths().map((path) => path.split('?')[0] ?? ''))
    for (const route of shown) silent.delete(route)
    // A list of one leads to that one.
    silent.delete('/trace-score-rules')
    expect([...silent].filter((route) => !route.endsWith('/search'))).toEqual([])
  })

  it('do not open or delete filters of each other', async () => {
    const { app, platform } = traced
    const { cookie, csrfToken } = await platform.signIn(platform.rival)
    const answer = await app.request(`/trace-filters/${filterId}/delete`, {
      method: 'POST',
      headers: {
        cookie,
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'http://platform.test',
      },
      body: new URLSearchParams({ csrf_token: csrfToken }).toString(),
    })
    expect(answer.status).toBe(404)
    const { userId: id, organizationId } = platform.acme
    expect(await listTraceFilters(platform.sql, { id, organizationId })).toHaveLength(1)
  })
})
