import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccountLink } from '../../../../services/platform/people/account-links.ts'
import { createInvitation } from '../../../../services/platform/people/invitations.ts'
import { grantRole } from '../../../../services/platform/people/users.ts'
import { NOUNS, PAGES_BY_HAND } from '../../../../services/web/nouns/list.ts'
import type { Reader } from '../../../../services/web/resources/declaration.ts'
import { pathsOf as addressesOf } from '../../../../services/web/resources/rights.ts'
import { expectAccessible } from '../../../support/axe.ts'
import { few, firstOfEach, isLong } from '../../../support/long.ts'
import { pathsOf, seedSettings, startRuns } from '../support/console-states.ts'
import type { Tenant } from '../support/platform.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'

const TITLE =
  'pages of each kind (test:long -- browser: all, in each look) against the rules of accessibility'

/** What a page is of, by its path: `/static-tokens`, or `/automations/1/static-tokens`. */
function kindOf(path: string): string | undefined {
  const [, first, , third] = path.replace(/\?.*/, '').split('/')
  return third ?? first
}

const PAGED = NOUNS.filter((noun) => !PAGES_BY_HAND.includes(noun))

/** The list of a resource, with the form of a new one. */
const listOf =
  ({ research }: Tenant): Reader<string> =>
  (declaration) =>
    addressesOf(declaration, 'pages').list.replace(':automationId', research.automationId)

describe.skipIf(hasNoBrowser)(TITLE, () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole()
  })

  afterAll(() => site.close())

  const open = (tenant?: Pick<Tenant, 'userId'>): Promise<Page> =>
    site.open(tenant && { ...site.platform.acme, ...tenant }, {
      viewport: { width: 1280, height: 900 },
    })

  it('breaks none in an organization that uses all of it, with folds open', async () => {
    const runs = await startRuns(site.platform)
    const ids = await seedSettings(site.platform)
    const page = await open(site.platform.acme)
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const pages = pathsOf(site.platform, runs, ids).map(([, path]) => path)
    const lists = PAGED.map((noun) => noun.read(listOf(site.platform.acme)))
    const all = new Set([...firstOfEach(pages, kindOf), ...(isLong ? lists : [])])
    for (const path of all) {
      await page.goto(site.service.url + path)
      await page.evaluate(
        "document.querySelectorAll('details').forEach((fold) => (fold.open = true))",
      )
      await expectAccessible(page)
    }
    expect(complaints.filter((each) => !/404|^\[DOM\]/.test(each))).toEqual([])
    await page.context().close()
  }, 400_000)

  it('breaks none after a form is submitted', async () => {
    const page = await open(site.platform.acme)
    const automation = `${site.service.url}/automations/${site.platform.acme.digest.automationId}`
    await page.goto(`${automation}/static-tokens`)
    await page.getByLabel('Name', { exact: true }).fill('CRM')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('heading', { name: 'Your new token' }).waitFor()
    await expectAccessible(page)
    await page.goto(`${automation}/settings`)
    await page.getByRole('textbox', { name: 'Limit' }).fill('many')
    await page.getByRole('button', { name: 'Save the limit' }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible(page)
    await page.goto(`${site.service.url}/llm-connections`)
    await page.getByRole('link', { name: 'Own models' }).click()
    await page.getByRole('button', { name: 'Test the connection' }).click()
    await page.getByRole('button', { name: 'Test again' }).waitFor()
    await expectAccessible(page)
    await page.goto(automation)
    await page.evaluate(
      "document.querySelectorAll('[name=csrf_token]').forEach((each) => { each.value = '' })",
    )
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('heading', { name: 'This form has expired' }).waitFor()
    await expectAccessible(page)
    await site.platform.sql`alter table llm_connections rename to gone`
    await page.goto(`${site.service.url}/llm-connections`)
    await page.getByRole('heading', { name: 'Something went wrong' }).waitFor()
    await expectAccessible(page)
    await site.platform.sql`alter table gone rename to llm_connections`
    await page.context().close()
  }, 400_000)

  it('breaks none in an empty organization, nor before sign-in', async () => {
    const [{ id }] = await site.platform.sql<[{ id: number }]>`
      insert into organizations (name) values ('empty') returning id`
    const [{ id: userId }] = await site.platform.sql<[{ id: number }]>`
      insert into users (organization_id, email, name) values (${id}, 'e@empty.test', 'E')
      returning id`
    await site.platform.sql`insert into memberships values (${userId}, ${id}, 'admin')`
    const { sql, acme } = site.platform
    await sql`insert into memberships values (${userId}, ${acme.organizationId}, 'viewer')`
    await grantRole(sql, userId, 'platform-admin')
    const page = await open({ userId })
    const paths = [
      '/',
      '/account',
      '/settings/organization/members',
      '/admin/organizations',
      `/admin/organizations/${acme.organizationId}`,
      '/admin/users',
      `/admin/users/${acme.userId}/delete`,
      '/admin/feature-flags/k8s_namespace_isolation',
      '/automations',
      '/executions',
      '/llm-connections',
      '/oauth-clients',
    ]
    for (const path of few(paths, 2)) {
      await page.goto(site.service.url + path)
      await page.getByTitle('Account and organization').click()
      await expectAccessible(page)
    }
    await sql`update users set organization_id = ${acme.organizationId} where id = ${userId}`
    const viewer = await open({ userId })
    for (const path of ['/settings', `/automations/${acme.digest.automationId}`]) {
      await viewer.goto(site.service.url + path)
      await viewer.getByText('Your role in acme is viewer').waitFor()
      await expectAccessible(viewer)
    }
    await viewer.context().close()
    const reset = { userId: acme.userId, purpose: 'password' } as const
    const password = await createAccountLink(sql, reset)
    const signIn = await createAccountLink(sql, { ...reset, purpose: 'sign-in' })
    const invited = { organizationId: id, role: 'viewer', note: '', createdBy: userId } as const
    const invitation = await createInvitation(sql, invited)
    const links = [
      `/reset-password/${password}`,
      `/sign-in/link/${signIn}`,
      `/invitations/${invitation.token}`,
      '/invitations/none',
    ]
    const stranger = await open(undefined)
    for (const path of few(['/sign-in', ...links, '/nothing', '/automations'], 3)) {
      await stranger.goto(site.service.url + path)
      await expectAccessible(stranger)
    }
    await Promise.all([page.context().close(), stranger.context().close()])
  }, 400_000)
})
