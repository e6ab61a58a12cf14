import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../../../services/platform/automations/token-limits.ts'
import { askAs } from '../../support/forms.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, Tenant } from '../../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
const numbers = new Map<string, string>()
let tokens: { readonly ada: string; readonly rival: string; readonly automation: string }

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  const tokenOf = ({ organizationId, userId }: Tenant, scope: TokenScope, of: number | null) =>
    issueStaticToken(platform.sql, {
      organizationId,
      deploymentId: of,
      name: scope,
      scopes: [scope],
      createdBy: userId,
    })
  tokens = {
    ada: await tokenOf(acme, 'read', null),
    rival: await tokenOf(rival, 'read', null),
    automation: await tokenOf(acme, 'read', acme.research.id),
  }
  for (const [index, tenant] of [acme, acme, acme, rival].entries()) {
    await insertRun(tenant, index + 1)
  }
})

afterAll(() => platform.close())

/** The run of a number, which took so many seconds, hundreds of tokens, and dollars. */
async function insertRun({ research }: Tenant, number: number): Promise<void> {
  const { sql } = platform
  const [{ id }] = await sql<[{ id: string }]>`
    insert into executions (deployment_id, inputs, status, started_at, finished_at, queued_at,
      error, output, usage, trigger, starter_name)
    values (${research.id}, ${sql.json({ topic: `tides ${number}` })},
      ${number === 3 ? 'error' : 'completed'}, now() - make_interval(secs => ${number}), now(),
      now() - make_interval(mins => ${number}),
      ${number === 3 ? sql.json({ code: 'c', message: 'm' }) : null},
      ${number === 3 ? null : 'out'},
      ${sql.json({ inputTokens: number * 100, outputTokens: 0 })}, 'api', 'CI')
    returning id`
  numbers.set(id, String(number))
  await sql`
    insert into run_steps (run_id, step_key, position, kind, name, path, state, attempt, started_at,
      ended_at, usage)
    values (${id}, 'a', 0, 'llm', ${number === 1 ? 'gpt-5' : 'gpt-5-nano'}, '[]', 'finished', 1,
      now(), now(), ${sql.json({ input_tokens: number * 1_000_000, output_tokens: 0 })})`
}

async function list(query: string, as: keyof typeof tokens = 'ada', more = '') {
  const path = `/designer/v2/executions?query=${encodeURIComponent(query)}${more}`
  const response = await platform.app.request(BASE_URL + path, {
    headers: { authorization: `Bearer ${tokens[as]}` },
  })
  return { status: response.status, body: await readObject(response) }
}

const numbersOf = ({ body }: Pick<Awaited<ReturnType<typeof list>>, 'body'>): string[] =>
  [...JSON.stringify(body).matchAll(/"(?:kickoff_)?id":"([0-9a-f-]{36})"/g)].flatMap(([, id]) =>
    [...numbers].flatMap(([each, number]) => (each === id ? [number] : [])),
  )

const CASES: [string, string[]][] = [
  ['status:failed', ['3']],
  ['model:gpt*', ['1', '2', '3']],
  ['model:gpt-5', ['1']],
  ['cost>0.1', ['2', '3']],
  ['tokens>200 duration>2.5s', ['3']],
  ['by:ci trigger:api "tides 2"', ['2']],
  ['status:failed model:gpt* cost>0.1 tides', ['3']],
  ['automation:nothing', []],
]

describe('the query of a list of runs', () => {
  it.each(CASES)(
    'finds by %s in the API what the page and a saved filter find',
    async (query, found) => {
      const { sql } = platform
      await sql`
      delete from model_prices`
      await sql`
      insert into model_prices (organization_id, name, models, per_million)
      values (${platform.acme.organizationId}, 'big', '{gpt-5}', '{"input": 0.01}'),
        (${platform.acme.organizationId}, 'small', '{gpt-5-nano}', '{"input": 0.06}')`
      expect(numbersOf(await list(query))).toEqual(found)
      const kept = await ada.post('/run-filters', {
        name: 'Kept',
        query: new URLSearchParams({ text: query }).toString(),
      })
      const page = await (await ada.get(kept.headers.get('location') ?? '')).text()
      expect(page.match(/class="lead"/g) ?? []).toHaveLength(found.length)
    },
  )

  it('is that of the runs of an automation, beside its status', async () => {
    const { automationId } = platform.acme.research
    const read = async (query: string) => {
      const path = `/platform/api/v1/crew/${automationId}/runs?${query}`
      const headers = { authorization: `Bearer ${tokens.automation}` }
      return readObject(await platform.app.request(BASE_URL + path, { headers }))
    }
    expect((await read('query=tokens%3E200'))['runs']).toHaveLength(2)
    expect((await read('query=tokens%3E200&status=error'))['runs']).toHaveLength(1)
    expect((await read('query=status%3Acompleted&status=error'))['runs']).toEqual([])
  })

  it('has pages, of the own organization alone', async () => {
    const first = await list('model:gpt*', 'ada', '&limit=2')
    expect(numbersOf(first)).toEqual(['1', '2'])
    const next = await list(
      'model:gpt*',
      'ada',
      `&limit=2&cursor=${String(first.body['next_cursor'])}`,
    )
    expect(numbersOf(next)).toEqual(['3'])
    expect(next.body['next_cursor']).toBeNull()
    expect(numbersOf(await list('model:gpt*', 'rival'))).toEqual(['4'])
  })

  it.each([
    ['cost>much', 'min_cost_usd cannot be \\"much\\"'],
    ['status:odd', 'status cannot be'],
    ['since:yesterday', 'since cannot be'],
    ['x'.repeat(501), 'at most 500 characters'],
  ])('is refused when it cannot be understood: %j', async (query, problem) => {
    const { status, body } = await list(query)
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining(problem)])
  })
})
