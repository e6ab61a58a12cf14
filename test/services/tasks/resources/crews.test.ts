import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { UNLIMITED } from '../../../../services/platform/automations/token-limits.ts'
import { createVariableSeals } from '../../../../services/platform/crews/crew-variables.ts'
import { createOwnAutomation } from '../../../../services/platform/crews/own-crews.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { openPlatform, readObject, SECRET } from '../../web/support/platform.ts'
import type { Platform } from '../../web/support/platform.ts'
import { createRunner, serveApp } from './support.ts'

let platform: Platform
let server: Awaited<ReturnType<typeof serveApp>>
let token: string
let rivalToken: string
let crew: Automation

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  const { organizationId } = platform.acme
  crew = await createOwnAutomation(platform.sql, { organizationId, name: 'Own' })
  server = await serveApp(platform.app)
})
afterAll(async () => {
  await server.stop()
  await platform.close()
})
beforeEach(async () => {
  caller = ''
  await platform.sql`delete from crew_variables`
  await platform.sql`delete from source_repositories`
})

const run = createRunner(() => ({ url: server.url, token }))

const DOCUMENTS = (slug: string): string => `kind: own_crew
name: ${slug}
spec:
  replicas: 2
  memory_limit: 2Gi
---
kind: environment_variable
name: REGION
parent: ${slug}
spec:
  value: north
---
kind: environment_variable
name: SERPER_API_KEY
parent: ${slug}
spec:
  secret_value: { env: A_SECRET }
---
kind: git_source
name: https://git.test/acme/crew.git
parent: ${slug}
spec:
  ref: main
  token: { env: A_SECRET }
`

type Answer = Record<string, unknown> & { readonly status: number }

/** Who calls, unless it is a token of the organization. */
let caller = ''

async function call(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${server.url}/designer/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${caller || token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { ...(response.status === 204 ? {} : await readObject(response)), status: response.status }
}

const secretOf = async (name: string): Promise<string | undefined> => {
  const [{ sealed }] = await platform.sql<[{ sealed: Buffer | null }]>`
    select sealed_value as sealed from crew_variables where name = ${name}`
  const key = { deploymentId: crew.id, name }
  return sealed ? createVariableSeals(SECRET).open(sealed, key) : undefined
}

describe('crews from source in files', () => {
  it('have settings, variables and a repository, the same after a second run', async () => {
    const made = await run.apply(DOCUMENTS(crew.slug))
    expect(made).toMatchObject({ code: 0, problem: '' })
    expect(made.result).toContain('3 to create, 1 to change, 0 to delete, 0 unchanged.')
    expect(await secretOf('SERPER_API_KEY')).toBe('hidden-1')
    expect(await secretOf('REGION')).toBeUndefined()
    expect((await run.apply(DOCUMENTS(crew.slug))).result).toContain('4 unchanged')
    const exported = await run.export()
    expect(exported).toContain('memory_limit: 2Gi')
    expect(exported).toContain('value: north')
    expect(exported).not.toContain('hidden-1')
    expect((await run.apply(exported)).result).toContain('0 to delete, 17 unchanged')
  })

  it('have a plain variable in place of a secret, another repository with --prune', async () => {
    await run.apply(DOCUMENTS(crew.slug))
    const changed = DOCUMENTS(crew.slug)
      .replace('secret_value: { env: A_SECRET }', 'value: plain')
      .replace('acme/crew.git', 'acme/other.git')
    expect(await run.apply(changed)).toMatchObject({ code: 2 })
    const pruned = await run.apply(changed, '--prune')
    expect(pruned).toMatchObject({ code: 0, problem: '' })
    expect(await secretOf('SERPER_API_KEY')).toBeUndefined()
    const rows = await platform.sql`select url from source_repositories`
    expect(rows).toEqual([{ url: 'https://git.test/acme/other.git' }])
  })

  it('are marked on the pages that people change them on', async () => {
    const ada = await platform.signIn(platform.acme)
    const marked = async () =>
      Promise.all(
        ['crew-settings', 'environment', 'crew-repository'].map(async (tab) => {
          const path = `/automations/${crew.automationId}/${tab}`
          const page = await fetch(server.url + path, { headers: { cookie: ada.cookie } })
          return (await page.text()).includes('Managed by the-repository:')
        }),
      )
    await run.apply(DOCUMENTS(crew.slug))
    expect(await marked()).toEqual([false, false, false])
    await run.apply(DOCUMENTS(crew.slug), '--managed-by', 'the-repository')
    expect(await marked()).toEqual([true, true, true])
  })

  it.each([
    ['memory_limit: 2Gi', 'memory_limit: lots', 'memory_limit'],
    ['replicas: 2', 'replicas: 21', 'replicas'],
    ['value: north', 'value: null', 'Give a value'],
    ['name: REGION', 'name: CREW_TOKEN', 'the platform sets CREW_TOKEN itself'],
    ['https://git', 'file:///etc', 'https address'],
    ['  ref: main', '  ref: ../x', 'must be the name of a branch'],
  ])('are refused with a sentence when %s is %s', async (good, bad, words) => {
    const refused = await run.apply(DOCUMENTS(crew.slug).replace(good, bad))
    expect(refused).toMatchObject({ code: 2, result: '', problem: expect.stringContaining(words) })
    expect(refused.problem).not.toContain('hidden-1')
  })
})

describe('the API of crews from source', () => {
  const paths = () => {
    const of = `/automations/${crew.automationId}`
    return { variables: `${of}/environment-variables`, sources: `${of}/git-sources` }
  }

  it('keeps a secret that no change names, and shows none', async () => {
    const { variables } = paths()
    const made = await call('POST', variables, { name: 'KEY', secret_value: 'hidden-2' })
    expect(made).toMatchObject({ status: 201, name: 'KEY', value: null })
    const one = `${variables}/${String(made['id'])}`
    expect(await call('PUT', one, { name: 'KEY' })).toMatchObject({ status: 200, value: null })
    expect(await secretOf('KEY')).toBe('hidden-2')
    const both = { name: 'KEY', value: 'a', secret_value: 'b' }
    expect(await call('PUT', one, both)).toMatchObject({ status: 422 })
    expect(await call('PUT', one, { name: 'B', value: 'b' })).toMatchObject({ status: 422 })
    expect(await call('POST', variables, { name: 'KEY', value: 'b' })).toMatchObject({
      status: 409,
    })
    const [{ all }] = await platform.sql<[{ all: string }]>`
      select json_agg(e)::text as all from audit_entries e`
    expect(JSON.stringify([made, await call('GET', variables), all])).not.toContain('hidden-2')
    expect(await call('DELETE', one)).toMatchObject({ status: 204 })
  })

  it('makes nothing of what is designed, and nothing of what others have', async () => {
    const { variables, sources } = paths()
    const designed = `/automations/${platform.acme.research.automationId}`
    const variable = { name: 'KEY', value: 'a' }
    const place = { url: 'https://git.test/a.git', ref: 'main' }
    for (const [path, body] of [
      [`${designed}/environment-variables`, variable],
      [`${designed}/git-sources`, place],
    ] as const) {
      expect(await call('POST', path, body)).toMatchObject({ status: 404 })
      expect((await call('GET', path)).status).toBe(200)
    }
    const one = `/own-crews/${crew.automationId}`
    caller = rivalToken
    for (const [path, body] of [
      [variables, variable],
      [sources, place],
    ] as const) {
      expect(await call('POST', path, body)).toMatchObject({ status: 404 })
      expect(await call('GET', path)).toMatchObject({ status: 404 })
    }
    expect(await call('PUT', one, { replicas: 1 })).toMatchObject({ status: 404 })
    expect(await call('GET', '/own-crews')).toMatchObject({ own_crews: [] })
    caller = await issueStaticToken(platform.sql, {
      organizationId: platform.acme.organizationId,
      deploymentId: null,
      name: 'reads',
      createdBy: platform.acme.userId,
      ...UNLIMITED,
      scopes: ['read'],
    })
    expect(await call('PUT', one, { replicas: 1 })).toMatchObject({ status: 403 })
    expect(await call('GET', one)).toMatchObject({ status: 200 })
  })
})
