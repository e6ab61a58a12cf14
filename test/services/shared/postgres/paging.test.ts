import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listAutomationActivity } from '../../../../services/platform/runs/activity.ts'
import { listAutomations } from '../../../../services/platform/automations/automations.ts'
import {
  countRuns,
  listRunPage,
  listNewestRuns,
} from '../../../../services/platform/runs/run-list.ts'
import { kickoff } from '../../../../services/platform/runs/runs.ts'
import {
  createLlmConnection,
  listLlmConnections,
} from '../../../../services/platform/connections/llm-connections.ts'
import type { Page, PageRequest } from '../../../../services/shared/postgres/paging.ts'
import { listStaticTokens } from '../../../../services/platform/automations/static-tokens.ts'
import { listToolPackages } from '../../../../services/platform/tools/tool-packages.ts'
import { ensureToolRepository } from '../../../../services/platform/tools/tools.ts'
import { openPlatform } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'

const ROWS = 23
let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
  const { sql, acme } = platform
  await sql`
    insert into deployments (organization_id, project_version_id, name, slug, app_id)
    select ${acme.organizationId}, ${acme.research.projectVersionId},
      'Copy ' || (n % 3), 'copy-' || n, 'copy-' || n from generate_series(1, ${ROWS - 2}) n`
  await sql`
    insert into llm_connections (organization_id, name, provider, model)
    select ${acme.organizationId}, 'Line ' || n, 'openai', '50%_' || n
    from generate_series(1, ${ROWS}) n`
  await sql`
    insert into static_tokens (organization_id, name, token_hash, last_four)
    select ${acme.organizationId}, 'token ' || n, sha256(n::text::bytea), 'abcd'
    from generate_series(1, ${ROWS}) n`
  await sql`
    insert into executions (deployment_id, inputs, queued_at)
    select ${acme.research.id}, '{}', now() - make_interval(secs => n / 4)
    from generate_series(1, ${ROWS}) n`
  const repositoryId = await ensureToolRepository(sql, acme.organizationId)
  await sql`
    insert into tools (repository_id, name, version, filename, sha256, size)
    select ${repositoryId}, 'package-' || n, v::text, n || '-' || v || '.zip', sha256(''), 1
    from generate_series(1, ${ROWS}) n, generate_series(1, 2) v`
  await kickoff(sql, { deploymentId: platform.rival.research.id, inputs: {} })
})

afterAll(() => platform.close())

type List = (request: PageRequest) => Promise<Page<unknown>>

const LISTS: [string, List][] = [
  ['automations', (page) => listAutomations(platform.sql, platform.acme.organizationId, page)],
  [
    'their activity',
    (page) => listAutomationActivity(platform.sql, platform.acme.organizationId, page),
  ],
  [
    'LLM connections',
    (page) => listLlmConnections(platform.sql, platform.acme.organizationId, page),
  ],
  ['static tokens', (page) => listStaticTokens(platform.sql, platform.acme.research, page)],
  ['tool packages', (page) => listToolPackages(platform.sql, platform.acme.organizationId, page)],
  ['executions', (request) => listRuns(request)],
]

async function listRuns(request: PageRequest) {
  const filter = { organizationId: platform.acme.organizationId }
  const counts = await countRuns(platform.sql, filter)
  return listRunPage(platform.sql, filter, { request, counts })
}

/** All pages from the first on, and then back again from the last one. */
async function walk(list: List, limit: number): Promise<Page<unknown>[][]> {
  const forth = [await list({ limit })]
  for (let next = forth.at(-1)?.next; next !== undefined; next = forth.at(-1)?.next) {
    forth.push(await list({ limit, after: next }))
  }
  const back = [forth.at(-1) ?? forth[0]].flatMap((page) => page ?? [])
  for (let to = back[0]?.previous; to !== undefined; to = back[0]?.previous) {
    back.unshift(await list({ limit, before: to }))
  }
  return [forth, back]
}

describe('a list in pages', () => {
  it.each(LISTS)('of %s has every row once, on the way forth and back', async (_, list) => {
    const whole = await list({ limit: 100 })
    expect(whole).toMatchObject({ total: ROWS, previous: undefined, next: undefined })
    expect(whole.items).toHaveLength(ROWS)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: ROWS + 1 }), async (limit) => {
        for (const pages of await walk(list, limit)) {
          expect(pages.flatMap(({ items }) => items)).toEqual(whole.items)
          expect(pages.every(({ total }) => total === ROWS)).toBe(true)
        }
      }),
      { numRuns: 5, examples: [[1], [ROWS], [ROWS - 1]] },
    )
  })

  it('goes on behind a row that has gone in the meantime', async () => {
    const { sql, acme } = platform
    const { next } = await listLlmConnections(sql, acme.organizationId, { limit: 4 })
    const after = await listLlmConnections(sql, acme.organizationId, { limit: 4, after: next })
    await sql`delete from llm_connections where name = ${next ?? ''}`
    const again = await listLlmConnections(sql, acme.organizationId, { limit: 4, after: next })
    expect(again.items).toEqual(after.items)
    await createLlmConnection(sql, {
      organizationId: acme.organizationId,
      name: next ?? '',
      provider: 'openai',
      model: 'again',
      baseUrl: null,
    })
  })

  it('takes a search as text, not as a pattern', async () => {
    const { sql, acme } = platform
    const find = async (search: string) =>
      (await listLlmConnections(sql, acme.organizationId, { limit: 100, search })).total
    expect(await find('LINE 2')).toBe(5)
    expect(await find('50%_2')).toBeGreaterThan(0)
    expect(await find('_ine')).toBe(0)
    expect(await find('\\')).toBe(0)
  })
})

describe('executions', () => {
  it('are found by the beginning and the end of their id, and by nothing else', async () => {
    const { sql, acme } = platform
    const filter = { organizationId: acme.organizationId }
    const [newest] = await listNewestRuns(sql, filter, 1)
    const id = newest?.id ?? ''
    for (const text of [id, id.slice(0, 23).toUpperCase(), id.slice(-8), id.slice(-12)]) {
      expect((await countRuns(sql, filter, text)).queued).toBe(1)
    }
    for (const text of ['zebra', '%', `${id}0`]) {
      expect((await countRuns(sql, filter, text)).queued).toBe(0)
    }
  })

  it('are those of one automation and of one status where a filter says so', async () => {
    const { sql, acme } = platform
    const { organizationId } = acme
    const ofDigest = { organizationId, deploymentId: acme.digest.id }
    expect(await listNewestRuns(sql, ofDigest, 10)).toEqual([])
    const stopped = { organizationId, status: 'stopped' } as const
    expect(await listNewestRuns(sql, stopped, 10)).toEqual([])
    expect(await listNewestRuns(sql, { organizationId }, 10)).toHaveLength(10)
  })
})
