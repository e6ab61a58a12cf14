import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeArtifacts } from '../../../../../services/platform/runs/run-artifacts.ts'
import { takeRuns } from '../../../../../services/platform/runs/run-queue.ts'
import { kickoff } from '../../../../../services/platform/runs/runs.ts'
import { BASE_URL, openPlatform, readObject } from '../../support/platform.ts'
import type { Platform, SignedInUser } from '../../support/platform.ts'

const NAME = `Ünï "quoted" 100%'s.html`
const STORED = `Ünï -quoted- 100%'s.html`
const HOSTILE = '<script>alert(1)</script>'

let platform: Platform
let ada: SignedInUser
let token: string
let wideToken: string
let id: string

beforeAll(async () => {
  platform = await openPlatform()
  const { acme, sql } = platform
  ada = await platform.signIn(acme)
  token = await platform.issueToken(acme, acme.research.id)
  wideToken = await platform.issueToken(acme)
  id = await kickoff(sql, { deploymentId: acme.research.id, inputs: { topic: 'x' } })
  const [lease] = await takeRuns(sql, 1)
  if (!lease) throw new Error('nothing to take')
  await storeArtifacts(sql, lease, [
    { name: STORED, task: 'write', content: HOSTILE },
    { name: 'data.json', task: 'research', content: '{"a":1}' },
    { name: 'report.md', task: 'write', content: '# Title' },
  ])
})

afterAll(() => platform.close())

const apiPath = (automation = platform.acme.research) =>
  `/platform/api/v1/crew/${automation.automationId}/runs/${id}/artifacts`
const call = (path: string, bearer = token) =>
  platform.app.request(path, { headers: { authorization: `Bearer ${bearer}` } })
const pagePath = () => `/automations/${platform.acme.research.automationId}/executions/${id}`
const get = (path: string, { cookie } = ada) => platform.app.request(path, { headers: { cookie } })

/** What makes a browser save a file and never run it. */
function expectHarmless(response: Response, type: string): void {
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe(type)
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; /)
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'.*, sandbox$/)
}

describe('GET runs/<kickoff_id>/artifacts', () => {
  it('lists the files of a run, each with its address', async () => {
    const answer = await readObject(await call(apiPath()))
    expect(answer).toEqual({
      kickoff_id: id,
      artifacts: expect.arrayContaining([
        {
          name: 'data.json',
          task: 'research',
          size: 7,
          left_out_characters: 0,
          created_at: expect.any(String),
          url: `${BASE_URL}${apiPath()}/data.json`,
        },
      ]),
    })
    expect(answer['artifacts']).toHaveLength(3)
  })

  it('sends each as a file to save, under its own name', async () => {
    const hostile = await call(`${apiPath()}/${encodeURIComponent(STORED)}`)
    expectHarmless(hostile, 'text/plain; charset=utf-8')
    expect(await hostile.text()).toBe(HOSTILE)
    expect(hostile.headers.get('content-disposition')).toBe(
      `attachment; filename="_n_ -quoted- 100_'s.html"; ` +
        `filename*=UTF-8''%C3%9Cn%C3%AF%20-quoted-%20100%25%27s.html`,
    )
    expectHarmless(await call(`${apiPath()}/data.json`), 'application/json')
    expectHarmless(await call(`${apiPath()}/report.md`), 'text/markdown; charset=utf-8')
  })

  it.each([NAME, 'none.md', '%00', '..%2fdata.json', 'data.json%00', '%ff', '%ed%a0%80'])(
    'has no file %j',
    async (name) => {
      expect((await call(`${apiPath()}/${name}`)).status).toBe(404)
    },
  )

  it('is for the callers of this automation only', async () => {
    for (const path of ['', '/data.json']) {
      expect((await call(`${apiPath()}${path}`, 'nobody')).status).toBe(401)
      expect((await call(`${apiPath()}${path}`, wideToken)).status).toBe(200)
      expect((await call(`${apiPath(platform.acme.digest)}${path}`, wideToken)).status).toBe(404)
    }
  })
})

describe('the page of a run', () => {
  it('lists its files, shows each, and lets them be downloaded', async () => {
    const page = (await (await get(pagePath())).text()).replace(/\s+/g, ' ')
    const path = `${pagePath()}/artifacts/${encodeURIComponent(STORED).replace("'", '&#39;')}`
    expect(page).toContain(`<dt><a href="${path}">Ünï -quoted- 100%&#39;s.html</a></dt>`)
    expect(page).toContain('Task write, 25 bytes.')
    const shown = await (await get(path.replace('&#39;', "'"))).text()
    expect(shown).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(shown).not.toContain(HOSTILE)
    expect(await (await get(`${pagePath()}/artifacts/report.md`)).text()).toContain(
      '<h3>Title</h3>',
    )
    const raw = await get(`${pagePath()}/artifacts/report.md?view=raw`)
    expect(await raw.text()).toContain('# Title')
    const sent = await get(`${pagePath()}/artifacts/data.json/content`)
    expectHarmless(sent, 'application/json')
  })

  it('shows no files to another organization', async () => {
    const eve = await platform.signIn(platform.rival)
    for (const path of ['data.json', 'data.json/content', 'none']) {
      expect((await get(`${pagePath()}/artifacts/${path}`, eve)).status).toBe(404)
    }
  })
})
