import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAccessible } from '../../../support/axe.ts'
import { agentJson, crewJson } from '../../platform/projects/crewai/project.ts'
import { hasNoBrowser, openConsole } from '../support/console.ts'
import type { Console } from '../support/console.ts'
import { BASE_URL, openPlatform } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'
import { zip } from '../../../support/zip.ts'

const FILES = { 'crew.jsonc': crewJson(), 'agents/writer.jsonc': agentJson() }
const WITH_TOOL = { ...FILES, 'agents/writer.jsonc': agentJson({ tools: ['SerperDevTool'] }) }
const archiveOf = (files: Readonly<Record<string, string>>): Buffer =>
  zip(Object.entries(files).map(([name, content]) => ({ name, content })))

describe('the page that imports a project', () => {
  let platform: Platform
  let ada: SignedInUser

  beforeAll(async () => {
    platform = await openPlatform()
    ada = await platform.signIn(platform.acme)
  })

  afterAll(() => platform.close())

  async function post(path: string, body: FormData | URLSearchParams, headers = {}) {
    const response = await platform.app.request(BASE_URL + path, {
      method: 'POST',
      headers: { cookie: ada.cookie, ...headers },
      body,
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  function upload(content: Buffer, { csrf = ada.csrfToken } = {}) {
    const form = new FormData()
    form.append('csrf_token', csrf)
    form.append('project', new Blob([content]), 'project.zip')
    return post('/import-project', form)
  }

  const store = (fields: Record<string, string>) =>
    post('/import-project/drafts', new URLSearchParams({ csrf_token: ada.csrfToken, ...fields }))

  it('shows what would become of it, by file and key, and stores nothing', async () => {
    const { status, text } = await upload(archiveOf(WITH_TOOL))
    expect(status).toBe(200)
    expect(text).toMatch(/agents\/writer\.jsonc.*tools\[0\].*Left out.*The tool SerperDevTool/s)
    expect(text).toMatch(/name="leave_out" value="true" required/)
    expect(text).toContain('&quot;Reports&quot;')
    expect(await platform.sql`select from projects where name = 'Reports'`).toHaveLength(0)
  })

  it('stores the definition that it showed as a draft', async () => {
    const { text } = await upload(archiveOf(FILES))
    const [, shown = ''] = /name="definition" value="([^"]*)"/.exec(text) ?? []
    const definition = shown.replaceAll('&quot;', '"')
    const stored = await store({ definition, project: 'Reports' })
    expect(stored.status).toBe(303)
    expect(stored.headers.get('location')).toMatch(
      /^\/projects\/\d+\/versions\/1\?notice=project-imported$/,
    )
    const versions = await platform.sql`
      select v.number, v.published_at, v.definition->>'name' as crew from project_versions v
      join projects p on p.id = v.project_id where p.name = 'Reports'`
    expect(versions).toEqual([{ number: 1, publishedAt: null, crew: 'Reports' }])
    const again = await store({ definition, project: ' ' })
    expect([again.status, again.text]).toEqual([
      422,
      expect.stringContaining('The name must have 1 to 200'),
    ])
  })

  it('says why it refuses a project, and what is no project', async () => {
    const broken = await upload(archiveOf({ 'crew.jsonc': '{' }))
    expect(broken.status).toBe(422)
    expect(broken.text).toMatch(/crew\.jsonc.*Refused.*not valid JSON with comments/s)
    const nothing = await upload(Buffer.from('hello'))
    expect([nothing.status, nothing.text]).toEqual([
      400,
      expect.stringContaining('is neither a ZIP archive nor a project'),
    ])
  })

  it('takes only its own form', async () => {
    expect(await upload(archiveOf(FILES), { csrf: 'x' })).toMatchObject({ status: 403 })
    const foreign = new FormData()
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect(await post('/import-project', foreign, headers)).toMatchObject({ status: 403 })
    expect(await post('/import-project', new URLSearchParams())).toMatchObject({ status: 415 })
    expect(await store({ definition: '{}', project: 'X' })).toMatchObject({ status: 422 })
  })
})

describe.skipIf(hasNoBrowser)('the page that imports a project, in a browser', () => {
  let site: Console

  beforeAll(async () => {
    site = await openConsole()
  })

  afterAll(() => site.close())

  const choose = (files: Readonly<Record<string, string>>) => [
    { name: 'project.zip', mimeType: 'application/zip', buffer: archiveOf(files) },
  ]

  it('goes from an archive to a draft without JavaScript', async () => {
    const page = await site.open(site.platform.acme, { javaScriptEnabled: false })
    await page.goto(`${site.service.url}/projects`)
    await page.getByRole('link', { name: 'Import a CrewAI project' }).click()
    await page.getByLabel('Project').setInputFiles(choose(WITH_TOOL))
    await page.getByRole('button', { name: 'See what would be imported' }).click()
    await page.getByLabel('Import it without what is left out').check()
    await page.getByRole('button', { name: 'Store as a draft' }).click()
    await page.getByText('The draft is stored.').waitFor()
    const { sql } = site.platform
    expect(await sql`select from projects where name = 'Reports'`).toHaveLength(1)
    await page.context().close()
  }, 180_000)

  it('breaks no rule of accessibility', async () => {
    const page = await site.open(site.platform.acme)
    await page.goto(`${site.service.url}/import-project`)
    await expectAccessible(page)
    await page.getByLabel('Project').setInputFiles(choose(WITH_TOOL))
    await page.getByRole('button', { name: 'See what would be imported' }).click()
    await page.getByRole('button', { name: 'Store as a draft' }).waitFor()
    await expectAccessible(page)
    await page.context().close()
  }, 180_000)
})
