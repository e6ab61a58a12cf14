import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { platformService } from '../../../../../services/shared/tracing/platform-service.ts'
import { nanos, spanOf, textAttribute } from '../../../collector/support/otlp.ts'
import type { OtlpSpan } from '../../../collector/support/otlp.ts'
import { freshTraceId, openTracedApp } from '../../support/traces.ts'
import type { TracedApp } from '../../support/traces.ts'

const MINUTE = 60_000
const SHOWN = 'platform_requests=shown'

const traceOf = (name: string, ago: number, durationMs: number): OtlpSpan => {
  const startMs = Date.now() - ago
  return spanOf({
    traceId: freshTraceId(),
    name,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(startMs + durationMs),
    attributes: name === 'answer' ? [textAttribute('gen_ai.operation.name', 'chat')] : [],
  })
}

describe('requests to the platform itself', () => {
  let traced: TracedApp
  const answer = traceOf('answer', 3 * MINUTE, 4000)
  const requests = [traceOf('POST /kickoff', 2 * MINUTE, 5), traceOf('GET /status', MINUTE, 5)]

  beforeAll(async () => {
    traced = await openTracedApp()
    const { acme } = traced.platform
    const resource = { attributes: [textAttribute('service.name', platformService('web'))] }
    await traced.send(acme, [answer])
    await traced.send(acme, requests, resource)
    await traced.collector.rolledUp()
  })
  afterAll(() => traced.close())

  const read = async (path: string): Promise<string> => {
    const response = await traced.get(traced.platform.acme, path)
    expect(response.status).toBe(200)
    return response.text()
  }
  const names = (page: string): string[] =>
    [...page.matchAll(/href="\/traces\/[0-9a-f]{32}[^"]*"[^>]*>([^<]+)</g)].map(([, name = '']) =>
      name.trim(),
    )
  const all = ['GET /status', 'POST /kickoff', 'answer']

  it('are not in the list, its sums and its chart', async () => {
    const page = await read('/traces')
    expect(names(page)).toEqual(['answer'])
    expect(page).toMatch(/Median duration<\/dt>\s*<dd[^>]*>\s*4\.\d s/)
    expect(page).toContain('1 trace by time')
  })

  it('are in it when that is asked for, and the address of all that follows says so', async () => {
    const page = await read(`/traces?${SHOWN}`)
    expect(names(page)).toEqual(all)
    expect(page).toContain('3 traces by time')
    expect(page).toMatch(/<option value="shown" selected>/)
    expect(page).toMatch(/href="\/trace-export\?[^"]*platform_requests=shown/)
    expect(page).toMatch(/name="query"\s+value="[^"]*platform_requests=shown/)
    expect(page).toMatch(/href="\/traces\/[0-9a-f]{32}\?list=[^"]*platform_requests%3Dshown/)
    const exported = async (query: string): Promise<number> =>
      (await read(`/trace-export?${query}`)).trim().split('\n').length - 1
    expect([await exported(''), await exported(SHOWN)]).toEqual([1, 3])
  })

  it('are found by their service without more words', async () => {
    expect(names(await read(`/traces?service=${platformService('web')}`))).toEqual(all.slice(0, 2))
  })

  it('are passed over by the neighbours of a trace, unless its list shows them', async () => {
    const previous = async (query: string): Promise<string | null> => {
      const path = `/traces/${answer.traceId}/previous${query}`
      return (await traced.get(traced.platform.acme, path)).headers.get('location')
    }
    expect(await previous('')).toContain('notice=first-trace')
    expect(await previous(`?list=${encodeURIComponent(SHOWN)}`)).toContain(
      `/traces/${requests[0]?.traceId}`,
    )
  })

  it('are neither counted as usage, nor offered for a comparison', async () => {
    const cells = (await read('/usage')).matchAll(/data-label="Traces"[^>]*>\s*(\d+)/g)
    expect([...cells].map(([, count]) => count)).toEqual(['1'])
    expect(await read('/usage?days=91')).toMatch(/<ul class="hours"[^>]*>\s*<li>\d\d-\d\d<\/li>/)
    const page = await read(`/trace-comparison?trace=${requests[0]?.traceId}`)
    expect(page).toContain('answer')
    expect(page).not.toContain('GET /status')
  })

  it('are shown or hidden, and what else is asked is explained', async () => {
    const response = await traced.get(traced.platform.acme, '/traces?platform_requests=some')
    expect(response.status).toBe(422)
    expect(await response.text()).toContain(
      'platform_requests must be hidden, shown (given: “some”).',
    )
  })
})
