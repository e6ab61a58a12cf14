import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { appendCrewLog } from '../../../../services/platform/crews/crew-logs.ts'
import { createVariableSeals } from '../../../../services/platform/crews/crew-variables.ts'
import { endPull, takeRepository } from '../../../../services/platform/crews/source-repositories.ts'
import { definition } from '../../../support/crew.ts'
import { tarGz } from '../../../support/tar.ts'
import { BASE_URL, SECRET, openPlatform } from '../support/platform.ts'
import type { Platform, SignedInUser } from '../support/platform.ts'

let platform: Platform
let ada: SignedInUser

beforeAll(async () => {
  platform = await openPlatform()
  ada = await platform.signIn(platform.acme)
})
afterAll(() => platform.close())

async function open(path: string, body?: FormData | URLSearchParams, as = ada) {
  const response = await platform.app.request(BASE_URL + path, {
    headers: { cookie: as.cookie },
    ...(body ? { method: 'POST', body } : {}),
  })
  const text = await response.text()
  return { status: response.status, location: response.headers.get('location') ?? '', text }
}
const post = (path: string, fields: Record<string, string> = {}) =>
  open(path, new URLSearchParams({ csrf_token: ada.csrfToken, ...fields }))

const archive = (text = 'x') =>
  tarGz([
    { path: '.venv/pyvenv.cfg' },
    { path: 'pyproject.toml', content: '[project]\nname = "crew"\n' },
    { path: 'crew.py', content: `@CrewBase\nclass A: ...\n# ${text}\n` },
  ])

function upload(path: string, content: Buffer, fields: Record<string, string> = {}) {
  const form = new FormData()
  const all = { csrf_token: ada.csrfToken, ...fields }
  for (const [name, value] of Object.entries(all)) form.append(name, value)
  form.append('source', new Blob([content]), 'crew.tar.gz')
  return open(path, form)
}

/** Creates an automation with one deployment; returns its address. */
async function create(name: string): Promise<string> {
  const { location } = await upload('/new-automation', archive(name), { name })
  return location.replace(/\/deployments\/1$/, '')
}

describe('the pages of automations from source', () => {
  it('make an automation of an archive, and lead to its deployment', async () => {
    const form = await open('/new-automation')
    expect(form.text).toContain('enctype="multipart/form-data"')
    const made = await upload('/new-automation', archive(), { name: 'First' })
    expect(made).toMatchObject({ status: 303, location: expect.stringMatching(/deployments\/1$/) })
    const page = await open(made.location)
    expect(page.text).toMatch(/Deployment 1.*Waiting.*crew\.tar\.gz, 2 files.*ada@acme\.test/s)
    const crew = await open(made.location.replace(/\/1$/, ''))
    expect(crew.text).toMatch(/<h1 class="break">First<.*<nav class="tabs"/s)
    expect(page.text).toMatch(/Left out<\/dt>\s*<dd[^>]*>\.venv\/<\/dd>/)
    expect(page.text).toContain(`data-live="${made.location}/live"`)
    const automation = await open(made.location.replace(/\/deployments.*/, '/design'))
    expect(automation.text).toMatch(/It runs a program of yours/)
    expect(automation.text).not.toContain('0 agents')
    expect((await open('/automations')).text).toContain('href="/new-automation"')
  })

  it('refuse a source on the page that sent it, and make nothing', async () => {
    const bad = tarGz([{ path: '/etc/passwd' }])
    const refused = await upload('/new-automation', bad, { name: 'Refused' })
    expect(refused.status).toBe(400)
    expect(refused.text).toMatch(/role="alert".*is absolute/s)
    expect(refused.text).toContain('value="Refused"')
    expect(await platform.sql`select from deployments where name = 'Refused'`).toHaveLength(0)
    const unnamed = await upload('/new-automation', archive(), { name: '' })
    expect([unnamed.status, unnamed.text]).toEqual([422, expect.stringContaining('The name must')])
    await create('Taken')
    const taken = await upload('/new-automation', archive(), { name: 'Taken' })
    expect([taken.status, taken.text]).toEqual([409, expect.stringContaining('another name')])
    const forged = await upload('/new-automation', archive(), { name: 'F', csrf_token: 'x' })
    expect(forged.status).toBe(403)
  })

  it('show what becomes of a deployment, and go back to an earlier one', async () => {
    const path = await create('Life')
    await upload(`${path}/deployments`, archive('two'))
    const [{ id }] = await platform.sql<[{ id: number }]>`
      select max(id) as id from crew_deployments`
    await platform.sql`
      update crew_deployments set state = 'Replaced', online_at = now(), ended_at = now()
      where id = ${id - 1}`
    await platform.sql`
      update crew_deployments set state = 'Crew has Failed', ended_at = now(),
        reason = 'There is no package named crewia. Correct pyproject.toml.'
      where id = ${id}`
    const log = { crewDeploymentId: id, stream: 'build' } as const
    await appendCrewLog(platform.sql, log, '\u001b[31merror\u001b[0m: <crewia>\n')
    const failed = await open(`${path}/deployments/2`)
    expect(failed.text).toMatch(/role="alert".*no package named crewia/s)
    expect(failed.text).toContain('error: &lt;crewia&gt;')
    expect(failed.text).toContain('data-live=""')
    expect(failed.text).not.toContain('Roll back')
    expect(failed.text).not.toContain('Log of the crew')
    await appendCrewLog(platform.sql, { crewDeploymentId: id, stream: 'crew' }, 'It ends.\n')
    const ended = await open(`${path}/deployments/2`)
    expect(ended.text).toMatch(/Log of the crew[^]*It ends\.[^]*Build log/)
    await appendCrewLog(platform.sql, log, 'half of a ')
    await appendCrewLog(platform.sql, log, 'line <of> crewia\nanother\n')
    const found = await open(`${path}/deployments/2?build=CREWIA`)
    expect(found.text).toMatch(/2 of 3 lines\..*<time[^>]*>[\d:]{8}<\/time> error: &lt;crewia&gt;/s)
    expect(found.text).toContain('</time> half of a line &lt;of&gt; crewia\n')
    expect(found.text).not.toContain('</time> another')
    expect(found.text).toContain('value="CREWIA"')
    const odd = await open(`${path}/deployments/2?build=${encodeURIComponent('"><b>x')}`)
    expect(odd.text).toContain('0 of 3 lines.')
    expect(odd.text).not.toContain('<b>x')
    const saved = await open(`${path}/deployments/2/logs/build`)
    expect(saved.text).toContain('\u001b[31m')
    expect((await open(`${path}/deployments/1`)).text).toContain('Roll back to this one')
    const back = await post(`${path}/deployments/1/roll-back`)
    expect(back).toMatchObject({ status: 303, location: `${path}/deployments/3` })
    const list = await open(`${path}/deployments`)
    expect(list.text).toMatch(/Deployment 3.*Deployment 2.*Failed.*Deployment 1/s)
    expect(list.text).toContain('-F &#39;source=@-;filename=source.tar.gz&#39;')
  })

  it('lead with the last line of a program that failed, and fold the others', async () => {
    const path = await create('Traceback')
    const reason =
      'It ended with exit code 1 before it took a run. Correct the project, and deploy again.\n\n' +
      '[import]   File "/srv/main.py", line 1\n[import]     import pandas\n' +
      'The project imports pandas, which is not installed. Add it to the dependencies.'
    await platform.sql`
      update crew_deployments set state = 'Crew has Failed', ended_at = now(), reason = ${reason}
      where id = (select max(id) from crew_deployments)`
    await platform.sql`
      update deployments set status = 'Crew has Failed', status_reason = ${reason}
      where name = 'Traceback'`
    const automation = path.replace(/\/deployments$/, '')
    for (const page of [`${path}/deployments/1`, `${path}/deployments`, automation]) {
      const alert = /role="alert"[^]*?<\/details>/.exec((await open(page)).text)?.[0] ?? ''
      expect(alert).toMatch(/^[^]*?<p>The project imports pandas, which is not installed\./)
      expect(alert).toContain('line 1\n[import]     import pandas\n')
    }
  })

  it('say whom a program runs as where it is a process of this machine', async () => {
    const path = await create('Here')
    const app = platform.appAt(BASE_URL, { CREW_PROCESSES: 'true' })
    const pages = ['/new-automation', `${path}/deployments`]
    for (const page of pages) {
      const here = await app.request(`${BASE_URL}${page}`, { headers: { cookie: ada.cookie } })
      expect(await here.text()).toContain('It runs as the person who started the platform')
      expect((await open(page)).text).not.toContain('who started the platform')
    }
  })

  it('keep settings, and say at the field what is wrong with it', async () => {
    const path = await create('Settings')
    const fields = { replicas: '2', memory_limit: '2Gi', egress: 'a.example.com\n10.0.0.0/8' }
    expect((await post(`${path}/crew-settings`, fields)).location).toContain('crew-saved')
    const page = await open(`${path}/crew-settings`)
    expect(page.text).toMatch(/name="replicas"[^>]*value="2"/)
    expect(page.text).toMatch(/a\.example\.com\n10\.0\.0\.0\/8/)
    const wrong = await post(`${path}/crew-settings`, { ...fields, memory_limit: 'lots' })
    expect(wrong.status).toBe(422)
    expect(wrong.text).toMatch(
      /id="memory_limit-problem">\s*It must be bytes such as 512Mi or 2Gi, or empty\./,
    )
    const deployed = await post(`${path}/crew-settings`, { ...fields, deploy: 'yes' })
    expect(deployed.location).toBe(`${path}/deployments/2`)
  })

  it('keep variables, and never show a secret again', async () => {
    const path = await create('Variables')
    const set = (fields: Record<string, string>) => post(`${path}/environment`, fields)
    await set({ name: 'API_KEY', value: 'very-secret', secret: 'yes' })
    await set({ name: 'REGION', value: 'north' })
    const lines = '# keys\nexport A="one two" # yes\nB=\'x#y\'\n'
    await post(`${path}/environment/many`, { lines })
    const page = await open(`${path}/environment`)
    expect(page.text).toMatch(/API_KEY.*REGION.*north/s)
    expect(page.text).not.toContain('very-secret')
    const rows = await platform.sql<{ id: number; name: string; sealedValue: Buffer }[]>`
      select d.id, v.name, v.sealed_value from crew_variables v
      join deployments d on d.id = v.deployment_id
      where d.name = 'Variables' and v.sealed_value is not null order by v.name`
    const seals = createVariableSeals(SECRET)
    const opened = rows.map(({ id: deploymentId, name, sealedValue }) =>
      seals.open(sealedValue, { deploymentId, name }),
    )
    expect(opened).toEqual(['one two', 'very-secret', 'x#y'])
    for (const [fields, problem] of [
      [{ name: '1A', value: '' }, 'must have letters'],
      [{ name: 'PORT', value: '1' }, 'the platform sets PORT itself'],
    ] as const) {
      const { status, text } = await set(fields)
      expect([status, text]).toEqual([422, expect.stringContaining(problem)])
    }
    const many = await post(`${path}/environment/many`, { lines: 'A=1\nB' })
    expect([many.status, many.text]).toEqual([422, expect.stringContaining('Line 2 is not')])
    await post(`${path}/environment/delete`, { name: 'REGION' })
    expect((await open(`${path}/environment`)).text).not.toContain('REGION')
  })

  it('stop, start, restart, and delete after a question', async () => {
    const { location } = await post('/new-automation/empty', { name: 'Empty' })
    const path = location.replace('/environment', '')
    expect((await open(`${path}/deployments`)).text).toContain('Nothing is deployed yet')
    const again = await post(`${path}/crew/deploy-again`)
    expect(again.status).toBe(409)
    await upload(`${path}/deployments`, archive())
    expect((await post(`${path}/crew/stop`)).location).toContain('notice=crew-stop')
    expect((await open(`${path}/deployments`)).text).toContain(`${path}/crew/start`)
    await post(`${path}/crew/start`)
    await post(`${path}/crew/restart`)
    expect((await open(`${path}/delete`)).text).toContain('Delete Empty?')
    expect((await post(`${path}/delete`)).location).toContain('automation-removed')
    expect((await open(`${path}/deployments`)).text).toContain('is being deleted')
  })

  it('lead on from the project whose versions are sources', async () => {
    await create('Versions')
    const [{ id }] = await platform.sql<[{ id: number }]>`
      select id from projects where name = 'Versions'`
    for (const path of ['', '/versions/1', '/versions/2']) {
      const { status, text } = await open(`/projects/${id}${path}`)
      expect([path, status]).toEqual([path, 200])
      expect(text).toContain('Versions')
    }
    expect((await open(`/projects/${id}/new-version`)).status).toBe(409)
    const added = await post(`/projects/${id}/versions`, {
      definition: JSON.stringify(definition),
    })
    expect(added.text).toContain('are sources')
  })

  it('are those of the own organization', async () => {
    const path = await create('Private')
    const eve = await platform.signIn(platform.rival)
    for (const page of ['/deployments', '/deployments/1', '/environment', '/crew-settings']) {
      expect((await open(path + page, undefined, eve)).status).toBe(404)
    }
    const designed = `/automations/${platform.acme.research.automationId}`
    expect((await open(`${designed}/deployments`)).text).toContain('Published versions')
    expect((await open(`${designed}/deployments/1`)).status).toBe(404)
  })
})

describe('the page of a Git repository', () => {
  it('saves, pulls and removes it, and shows the secret of its webhook once', async () => {
    const crew = await create('From Git')
    const path = `${crew}/crew-repository`
    const place = { url: 'https://git.test/acme/crew.git', ref: 'main', directory: 'crews/one/' }
    expect((await open(path)).text).toContain('From a Git repository')
    const refused = await post(path, { ...place, url: 'git@git.test:x', token: 'glpat-3' })
    expect(refused).toMatchObject({ status: 422 })
    expect(refused.text).toContain('Give the https address')
    expect(refused.text).not.toContain('glpat-3')
    expect((await post(path, { ...place, token: 'glpat-3' })).status).toBe(303)
    const saved = await open(path)
    expect(saved.text).toMatch(/value="crews\/one".*One is saved.*Make a secret/s)
    expect(saved.text).not.toContain('glpat-3')
    const { location } = await post(`${path}/pull`)
    expect((await open(location)).text).toContain('A worker is pulling it.')
    expect((await open(location)).text).toContain(`data-live="${path}/live"`)
    const taken = await takeRepository(platform.sql)
    if (!taken) throw new Error('nothing to pull')
    await endPull(platform.sql, taken, { commit: 'c0ffee00c0ffee00' })
    const pulled = (await open(`${path}/live`)).text
    expect(pulled).toContain('data-live=""')
    expect(pulled).toContain('c0ffee00c0ff')
    const made = await post(`${path}/webhook`)
    const [, secret = ''] = /not shown again.*?([\w-]{43})/s.exec(made.text) ?? []
    expect(secret).toHaveLength(43)
    expect((await open(path)).text).not.toContain(secret)
    await post(path, { ...place, no_token: 'yes' })
    expect((await open(path)).text).not.toContain('One is saved.')
    await post(`${path}/webhook/delete`)
    await post(`${path}/delete`)
    expect((await open(path)).text).not.toContain('git.test/acme')
  })
})
