import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withResourceTable } from '../../../../scripts/resource-table.ts'
import { setMembership } from '../../../../services/platform/people/memberships.ts'
import { createCaseSet } from '../../../../services/platform/evaluations/case-sets.ts'
import { addCases } from '../../../../services/platform/evaluations/cases.ts'
import { issueStaticToken } from '../../../../services/platform/automations/static-tokens.ts'
import { ensureUser, grantRole } from '../../../../services/platform/people/users.ts'
import { isObject } from '../../../../services/shared/is-object.ts'
import { NOUNS, PAGES_BY_HAND } from '../../../../services/web/nouns/list.ts'
import type { Fields, Reader } from '../../../../services/web/resources/declaration.ts'
import { describeRoutes } from '../../../../services/web/api/openapi/describe-routes.ts'
import { endOf, namesOf } from '../../../../services/web/resources/names.ts'
import { examplesOf, readCreated } from './examples.ts'
import { pathsOf } from '../../../../services/web/resources/rights.ts'
import { typedOf } from '../../../../services/web/resources/values.ts'
import { failBatches, makeReservable, seedBatch } from '../support/console-states.ts'
import { BASE_URL, readObject } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'
import { openSendTraces } from '../support/send-traces.ts'
import type { SendTraces } from '../support/send-traces.ts'
import { anyCharacters } from '../../../support/any-characters.ts'
import { isLong } from '../../../support/long.ts'

interface Noun {
  readonly kind: string
  readonly path: string
  readonly pages: string
  readonly hasScope: boolean
  /** What the end is called in the audit. */
  readonly end: string
  readonly fields: Fields
  readonly can: Readonly<Record<'create' | 'change' | 'remove', boolean>>
  readonly actions: readonly (readonly [name: string, past: string, asks?: string])[]
}

const read: Reader<Noun> = ({ kind, under, scope, fields, verbs, actions, words }) => ({
  kind,
  hasScope: scope !== undefined,
  can: {
    create: verbs.create !== undefined,
    change: verbs.change !== undefined,
    remove: verbs.remove !== undefined,
  },
  path: pathsOf({ kind, under }).list,
  pages: pathsOf({ kind, under }, 'pages').list,
  end: endOf({ words })[1],
  fields,
  actions: Object.entries(actions).map(([name, { past, asks }]) => [name, past, asks]),
})
const nouns = NOUNS.map((noun) => noun.read(read))
const paged = NOUNS.filter((noun) => !PAGES_BY_HAND.includes(noun)).map((noun) => noun.read(read))

let site: SendTraces
let platform: Platform
let ada: SignedInUser
let token: string

beforeAll(async () => {
  site = await openSendTraces()
  ;({ platform } = site)
  await grantRole(platform.sql, platform.acme.userId, 'platform-admin')
  ada = await platform.signIn(platform.acme)
  // What a replay performs again.
  await platform.sql`
    insert into executions (deployment_id, inputs, status, output, finished_at)
    values (${platform.acme.research.id}, '{}', 'completed', '', now())`
  // What an evaluation performs.
  const { research } = platform.acme
  const set = await createCaseSet(platform.sql, research, { name: 'Billing', checks: [] })
  await addCases(platform.sql, set, [{ name: null, inputs: {}, expected: null }])
  token = await issueStaticToken(platform.sql, {
    organizationId: platform.acme.organizationId,
    deploymentId: null,
    name: 'CI',
    createdBy: platform.acme.userId,
  })
})

afterAll(() => site.close())

const pathOf = ({ path }: Pick<Noun, 'path'>): string =>
  path.replace(':automationId', platform.acme.research.automationId)
const pageOf = ({ pages: path }: Noun): string => pathOf({ path })

/** Makes the person of the example a member, whom no call makes one. */
async function join(): Promise<void> {
  const { sql, acme } = platform
  const { organizationId } = acme
  const grace = { organizationId, email: 'grace@example.com', name: 'Grace', passwordHash: null }
  const userId = await ensureUser(sql, grace)
  await setMembership(sql, { userId, organizationId, role: 'viewer' })
}

const send = (path: string, typed: URLSearchParams) =>
  platform.app.request(BASE_URL + path, {
    method: 'POST',
    headers: { cookie: ada.cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams([...typed, ['csrf_token', ada.csrfToken]]),
  })

/** Who calls the API: a token, but for what belongs to the platform and takes none. */
const callerOf = (path: string): Record<string, string> =>
  path.startsWith('/admin/')
    ? { cookie: ada.cookie, origin: BASE_URL, 'x-csrf-token': ada.csrfToken }
    : { authorization: `Bearer ${token}` }

const call = (method: string, path: string, body?: unknown) =>
  platform.app.request(`${BASE_URL}/designer/v2${path}`, {
    method,
    headers: { ...callerOf(path), 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })

/** The body that the API gets for the values that a form has. */
const bodyOf = ({ fields }: Noun, typed: URLSearchParams): object =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { look }]) => {
      const value = look.control.read(typed, name)
      return value === undefined ? [] : [[name, value] as const]
    }),
  )

/** Examples with another name, which may be taken once. */
const otherOf = (noun: Noun): Record<string, unknown> => ({
  ...examplesOf(noun),
  ...('name' in noun.fields && { name: 'Another' }),
})

/** Deletes all that there is of a noun, but for one, and the token that deletes. */
async function empty(noun: Noun, kept?: unknown): Promise<void> {
  if (noun.kind === 'organization') return removeOrganizations(kept)
  if (!noun.can.remove || !noun.can.create) return
  const path = pathOf(noun)
  for (const { id, name } of await listOf(noun)) {
    if (id !== kept && name !== 'CI')
      expect((await call('DELETE', `${path}/${String(id)}`)).status).toBe(204)
  }
}

/** Removes the organizations that tests made, which nothing else does. */
async function removeOrganizations(kept: unknown): Promise<void> {
  const ids = [platform.acme.organizationId, platform.rival.organizationId, Number(kept ?? 0)]
  await platform.sql`delete from organizations where id <> all(${ids}::int[])`
}

/** What a page says is wrong. */
const problemOf = (page: string): string =>
  (/role="alert">.*?<span>(.*?)<\/span>/s.exec(page)?.[1] ?? '')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** What is wrong by the words of the API, without the names of fields. */
function wordsOf({ message, details }: Record<string, unknown>): string[] {
  const problems = isObject(details) ? details['problems'] : undefined
  return Array.isArray(problems)
    ? problems.map((each) => String(each).replace(/^\S+ /, ''))
    : [String(message)]
}

/** Expects a form that was refused to say what the API says of its body. */
async function compareRefusals(page: Response, answer: Response, body: object): Promise<void> {
  // No API takes the character in JSON, whatever it is for; an escaped backslash begins none.
  const isNoJson = JSON.stringify(body).replaceAll('\\\\', '').includes('\\u0000')
  expect([answer.status, page.status]).toEqual([isNoJson ? 400 : 422, 422])
  const told = isNoJson ? [] : wordsOf(await readObject(answer))
  const shown = problemOf(await page.text())
  for (const words of told) expect(shown).toContain(words)
}

const value = (example: unknown) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constant(example) },
    { weight: 1, arbitrary: anyCharacters(20) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<unknown>(
        undefined,
        '',
        'x'.repeat(2100),
        'UTC',
        '*',
        '0 9 * * *',
        'https://10.0.0.1/',
        [],
        ['run_completed', '*'],
        Array.from({ length: 120 }, (_, index) => `type_${index}`),
        ['A'],
        {},
        { topic: 1 },
        'null',
        7,
      ),
    },
  )

const valuesOf = (noun: Noun) =>
  fc.record(
    Object.fromEntries(Object.entries(examplesOf(noun)).map(([name, each]) => [name, value(each)])),
  )

/** Whether rows are created, or changed. */
const newnessOf = ({ can }: Noun): boolean[] => [
  ...(can.create ? [true] : []),
  ...(can.change ? [false] : []),
]

const ODD = ['', 'x'.repeat(5000), '\0']

/**
 * Values that are taken, and such with an odd one in a field: both are tried of each noun. Each
 * field has one of the odd values, and all of them in the long form.
 */
function triedOf(noun: Noun): [Record<string, unknown>, boolean][] {
  const names = Object.keys(noun.fields)
  const odd = names.flatMap((name, index) =>
    ODD.filter((_, each) => isLong || names.length < ODD.length || each === index % ODD.length).map(
      (each) => ({ [name]: each }),
    ),
  )
  // In a change, the short form has what is refused anywhere.
  const refused = odd.filter((each) => !Object.values(each).includes(''))
  return newnessOf(noun).flatMap((isNew, at) =>
    [{}, ...(isLong || at === 0 ? odd : refused)].map(
      (other): [Record<string, unknown>, boolean] => [{ ...examplesOf(noun), ...other }, isNew],
    ),
  )
}

async function listOf(noun: Noun): Promise<Record<string, unknown>[]> {
  const { [namesOf(noun.kind).list]: rows } = await readObject(await call('GET', pathOf(noun)))
  return Array.isArray(rows) ? rows.filter(isObject) : []
}

/** A row that there is, or one that is made. */
async function rowOf(noun: Noun): Promise<Record<string, unknown>> {
  const path = pathOf(noun)
  if (noun.can.create) return readCreated(path, await call('POST', path, otherOf(noun)))
  return lastOf(noun)
}

/** The newest row, or the one that is joined. */
async function lastOf(noun: Noun): Promise<Record<string, unknown>> {
  await join()
  const rows = await listOf(noun)
  return rows.find(({ email }) => email === 'grace@example.com') ?? rows.at(-1) ?? {}
}

/** What a row has that cannot change. */
const fixedOf = (fields: Fields, row: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, { look }]) => look.isFixed)
      .map(([name]) => [name, row[name]]),
  )

/** People whom nothing creates but an invitation, or a provider. */
async function addUsers(): Promise<void> {
  const { organizationId } = platform.acme
  for (const email of ['zoe@acme.test', 'zac@acme.test']) {
    await ensureUser(platform.sql, { organizationId, email, name: 'Zz', passwordHash: null })
  }
}

/** Two batches with a row that failed, and one that waits. */
async function addBatches(): Promise<void> {
  await seedBatch(platform)
  await seedBatch(platform)
  await failBatches(platform.sql)
  await makeReservable(platform)
}

/** Makes what is ordered a plan, which is confirmed and may be withdrawn. */
const makePlans = (): Promise<unknown> => platform.sql`
  update erasures set state = 'planned', confirmed_at = null, confirmed_by = null`

/** Does something with a form, and expects the page that it leads to to say that it is done. */
async function act(path: string, typed = new URLSearchParams()): Promise<void> {
  const answer = await send(path, typed)
  if (answer.status >= 400) {
    const problem = problemOf(await answer.text())
    throw new Error(`${path} refuses ${typed.toString()}: ${problem}`)
  }
  const at = answer.headers.get('location') ?? ''
  if (!at.includes('notice=')) return
  const page = await platform.app.request(BASE_URL + at, { headers: { cookie: ada.cookie } })
  expect([at, (await page.text()).includes('role="status"')]).toEqual([at, true])
}

/** Does all that can be done with a row, with a form for each. */
async function useByPage(noun: Noun): Promise<void> {
  const { can, actions } = noun
  const path = pageOf(noun)
  const typed = typedOf(noun.fields, examplesOf(noun))
  if (can.create) await act(path, typed)
  const one = `${path}/${String((await lastOf(noun))['id'])}`
  if (can.change) await act(one, typed)
  await makePlans()
  for (const [name, , asks] of actions) {
    const question = await platform.app.request(`${BASE_URL}${one}/${name}`, {
      headers: { cookie: ada.cookie },
    })
    expect([name, question.status]).toEqual([name, asks === undefined ? 404 : 200])
    if (asks !== undefined) expect(await question.text()).toContain(asks)
    await act(`${one}/${name}`)
  }
  await makePlans()
  if (can.remove) await act(`${one}/delete`)
}

async function useByApi(noun: Noun): Promise<void> {
  const { can, actions, fields } = noun
  const path = pathOf(noun)
  if (can.create) await call('POST', path, examplesOf(noun))
  const last = await lastOf(noun)
  const one = `${path}/${String(last['id'])}`
  if (can.change) await call('PUT', one, { ...examplesOf(noun), ...fixedOf(fields, last) })
  await makePlans()
  for (const [name] of actions) await call('POST', `${one}/${name}`)
  await makePlans()
  if (can.remove) await call('DELETE', one)
}

const pastsOf = ({ can, actions, end }: Noun): string[] => [
  ...(can.create ? ['created'] : []),
  ...(can.change ? ['changed'] : []),
  ...actions.map(([, past]) => past),
  ...(can.remove ? [end] : []),
]

describe.each(paged)('the $kind', (noun) => {
  it.skipIf(newnessOf(noun).length === 0)(
    'is taken and refused alike by form and API, in the same words',
    async () => {
      const path = pathOf(noun)
      const made = await rowOf(noun)
      const one = `${path}/${String(made['id'])}`
      const pages = pageOf(noun)
      const onePage = `${pages}/${String(made['id'])}`
      const outcomes = new Set<string>()
      const tried = triedOf(noun)
      await fc.assert(
        fc.asyncProperty(
          valuesOf(noun),
          fc.constantFrom(...newnessOf(noun)),
          async (values, isNew) => {
            // A form does not ask again for what is fixed, and the API refuses another value.
            const all = isNew ? values : { ...values, ...fixedOf(noun.fields, made) }
            const given = Object.entries(all).filter(([, each]) => each !== undefined)
            const typed = typedOf(noun.fields, Object.fromEntries(given))
            const page = await send(isNew ? pages : onePage, typed)
            if (isNew && page.status < 400) await empty(noun, made['id'])
            const answer = await call(
              isNew ? 'POST' : 'PUT',
              isNew ? path : one,
              bodyOf(noun, typed),
            )
            const isTaken = answer.status < 300
            outcomes.add(`${isNew} ${isTaken}`)
            if (isTaken) {
              expect([200, 303]).toContain(page.status)
              await page.body?.cancel()
              if (isNew) await empty(noun, made['id'])
              else await call('PUT', one, otherOf(noun))
            } else {
              await compareRefusals(page, answer, bodyOf(noun, typed))
            }
          },
        ),
        { numRuns: tried.length + (isLong ? 60 : 3), examples: tried },
      )
      expect(outcomes.size).toBe(2 * newnessOf(noun).length)
      await empty(noun)
    },
  )

  it('leaves one entry in the audit for each change, by page as by API', async () => {
    const entries = async (): Promise<string[]> =>
      (await platform.sql`select action, actor_name from audit_entries order by id`).map(
        ({ action, actorName }) => `${action} by ${actorName}`,
      )
    const { email } = platform.acme
    if (noun.kind === 'user') await addUsers()
    if (noun.kind === 'batch') await addBatches()
    const before = (await entries()).length
    await useByPage(noun)
    if (!noun.can.remove) await empty(noun)
    await useByApi(noun)
    const pasts = pastsOf(noun)
    const callers = [email, noun.path.startsWith('/admin/') ? email : 'CI']
    expect((await entries()).slice(before)).toEqual(
      callers.flatMap((name) => pasts.map((past) => `${noun.kind}_${past} by ${name}`)),
    )
  })
})

describe('the console', () => {
  /** Returns where the links of a page lead, or what leads on from it. */
  async function linksOf(path: string): Promise<string[]> {
    const page = await platform.app.request(BASE_URL + path, { headers: { cookie: ada.cookie } })
    const moved = page.headers.get('location')
    if (moved !== null) return [moved]
    const found = [...(await page.text()).matchAll(/<a\b[^>]*? href="(\/[^"?#]*)/gs)]
    return found.map(([, href = '']) => href)
  }

  it('has links that lead from its first page to the list of each resource', async () => {
    const found = new Set(['/'])
    const lost = (): string[] => paged.map(pageOf).filter((path) => !found.has(path))
    for (const path of found) {
      if (lost().length === 0) break
      for (const link of await linksOf(path)) found.add(link)
    }
    expect(lost(), 'Link it from a page, as console/automations/design-page.ts does.').toEqual([])
  })
})

describe('the API', () => {
  const nameless = (path: string) => path.replaceAll(/\{\w+\}|:\w+/g, ':')
  let all: string[]

  beforeAll(() => {
    all = Object.entries(describeRoutes(platform.app.routes)).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${nameless(path)}`),
    )
  })

  it.each(nouns)('of the $kind is described in OpenAPI, route by route', (noun) => {
    const isOfNoun = new RegExp(`^\\w+ /designer/v2${nameless(noun.path)}(/|$)`)
    const described = all.filter((route) => isOfNoun.test(route) && !route.startsWith('PARAMETERS'))
    const routes = platform.app.routes
      .map(({ method, path }) => `${method} ${nameless(path)}`)
      .filter((route) => isOfNoun.test(route) && !route.startsWith('ALL'))
    expect(described.toSorted()).toEqual([...new Set(routes)].toSorted())
  })
})

describe('files', () => {
  it('may keep each resource that a token changes', () => {
    const described = JSON.stringify(describeRoutes(platform.app.routes))
    const lost = nouns
      .filter(({ can, hasScope }) => can.change && hasScope)
      .map(({ kind }) => kind)
      .filter((kind) => !described.includes(`"x-resource":{"kind":"${kind}"`))
    expect(lost, 'Say in `identity` by which field files name a row.').toEqual([])
  })
})

describe('docs/reference.md', () => {
  it('has the table of resources as they are declared', () => {
    const text = readFileSync(new URL('../../../../docs/reference.md', import.meta.url), 'utf8')
    expect(text).toContain('| Resource |')
    const isCurrent = text === withResourceTable(text)
    expect(isCurrent, 'it is stale: run `npm run schemas` and commit it').toBe(true)
  })
})
