import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureOrganization } from '../../../../services/platform/people/organizations.ts'
import {
  ensurePublicToolRepository,
  ensureToolRepository,
} from '../../../../services/platform/tools/tools.ts'
import { signInAs } from '../support/every-route.ts'
import { askAs } from '../support/forms.ts'
import { BASE_URL, openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'
import { makeWheel, storeWheel, uploadForm } from '../support/wheels.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
const ids = new Map<string, number>()

beforeAll(async () => {
  platform = await openPlatform()
  const { sql, acme, rival } = platform
  ada = askAs(platform.app, await platform.signIn(acme))
  await platform.issueToken(acme)
  const [{ id: uploadedBy }] = await sql<[{ id: number }]>`select id from static_tokens`
  const add = async (name: string, repositoryId: number): Promise<void> => {
    await storeWheel(sql, { repositoryId, uploadedBy }, makeWheel(name, '1.0', '>=3.10'))
    const [{ id }] = await sql<[{ id: number }]>`select max(id) as id from tools`
    ids.set(name, id)
  }
  await add('theirs', await ensureToolRepository(sql, rival.organizationId))
  await add('everybodys', await ensurePublicToolRepository(sql, 'public'))
})

afterAll(() => platform.close())

const flat = async (answer: Response, status = 200): Promise<string> => {
  const text = await answer.text()
  expect(answer.status, text).toBe(status)
  return text.replace(/\s+/g, ' ').replaceAll('&quot;', '"')
}

const read = async (path: string, status = 200) => flat(await ada.get(path), status)
const yank = (name: string, fields = {}) =>
  ada.post(`/tools-packages/files/${ids.get(name)}/yank`, fields)

/** The commands of a page, by their labels. */
const commandsOf = (page: string): Map<string, string> =>
  new Map(
    [...page.matchAll(/aria-label="([^"]+)" *><code>(.*?)<\/code>/g)].map(
      ([, label = '', text = '']) => [label, text],
    ),
  )

describe('the page of the tool packages', () => {
  it('leads from nothing to a token that uploads, and from there to the package', async () => {
    const empty = await read('/tools-packages')
    expect(empty).toContain('No packages yet')
    expect(empty).toContain('href="/tools-packages/public/everybodys"')
    expect(empty).not.toContain('theirs')
    expect(empty).toContain('action="/static-tokens"')
    const form = { name: 'build server', scopes: 'upload', days: '30' }
    const issued = await flat(await ada.post('/static-tokens', form))
    const commands = commandsOf(issued)
    const token = commands.get('Token') ?? ''
    expect(commands.get('Set the token for the commands')).toBe(`export TOKEN=${token}`)
    const [url = ''] = /http\S+/.exec(commands.get('Upload with twine') ?? '') ?? []
    expect(url).toBe(`${BASE_URL}/tools/organization/`)
    expect(commands.get('Install with pip, from this index alone')).toContain(
      '"http://__token__:$TOKEN@platform.test/tools/organization/simple/"',
    )
    const headers = { authorization: `Bearer ${token}` }
    for (const version of ['1.0', '2.0']) {
      const wheel = makeWheel('Tide.Tables', version)
      const body = uploadForm(wheel, { requires_python: '>=3.9' })
      expect((await platform.app.request(url, { method: 'POST', headers, body })).status).toBe(200)
    }
    const list = await read('/tools-packages')
    expect(list).toContain('href="/tools-packages/organization/tide-tables"')
    const page = await read('/tools-packages/organization/Tide_Tables')
    expect(page).toContain('2 files of acme')
    expect(page).toContain('&gt;=3.9')
    expect(page).toContain(`build server (pat_…${token.slice(-4)}, of Ada Park)`)
    expect(page).toMatch(/title="[0-9a-f]{64}"/)
    expect(await read('/tools-packages/organization/tide-tables?q=2.0')).toContain('1 file matches')
    expect(await read('/tools-packages?q=nothing')).toContain('Nothing matches “nothing”')
    const [{ id }] = await platform.sql<[{ id: number }]>`
      select id from tools where name = 'tide-tables' and version = '2.0'`
    ids.set('tides', id)
    expect(JSON.stringify(await platform.audit())).not.toContain(token)
  })

  it('yanks a file for a reason and makes it good again, for installers too', async () => {
    const simple = async (): Promise<string> => {
      const token = await platform.issueToken(platform.acme)
      const headers = { authorization: `Bearer ${token}` }
      const path = '/tools/organization/simple/tide-tables/'
      return flat(await platform.app.request(path, { headers }))
    }
    const path = `/tools-packages/files/${ids.get('tides')}`
    expect(await read(`${path}/yank`)).toContain('Yank Tide_Tables-2.0-py3-none-any.whl?')
    const long = await yank('tides', { reason: 'x'.repeat(201) })
    expect(await flat(long, 422)).toContain('one line of at most 200 characters')
    const done = await yank('tides', { reason: 'off <by> an hour' })
    const page = await read(done.headers.get('location') ?? '')
    expect(page).toContain('The file is yanked.')
    expect(page).toContain('off &lt;by&gt; an hour')
    expect(await simple()).toContain('data-yanked="off &lt;by&gt; an hour"')
    expect((await ada.post(`${path}/unyank`)).status).toBe(303)
    expect(await simple()).not.toContain('data-yanked')
    const entries = await platform.audit()
    expect(entries.slice(-2)).toMatchObject([
      { action: 'tool_yanked', actorName: 'ada@acme.test', after: { reason: 'off <by> an hour' } },
      { action: 'tool_unyanked', before: { reason: 'off <by> an hour' }, after: { reason: null } },
    ])
  })

  it('shows neither files of others, nor who uploaded those of everybody', async () => {
    await read('/tools-packages/organization/theirs', 404)
    await read('/tools-packages/organization/..%2f', 404)
    const page = await read('/tools-packages/public/everybodys')
    expect(page).toContain(
      'pip install everybodys \\ --index-url "http://platform.test/tools/public',
    )
    expect(page).not.toContain('pat_')
    expect(page).not.toContain('/yank')
    for (const name of ['theirs', 'everybodys']) expect((await yank(name)).status).toBe(404)
  })

  it('lets the platform’s own organization yank public files', async () => {
    const { sql, app } = platform
    const { id: organizationId } = await ensureOrganization(sql, { name: 'Own', internal: true })
    const acme = { ...platform.acme, organizationId }
    const operator = askAs(app, await signInAs({ ...platform, acme }, 'operator', 'editor'))
    const page = await flat(await operator.get('/tools-packages/public/everybodys'))
    expect(page).toContain('aria-label="Yank everybodys-1.0-py3-none-any.whl"')
    const answer = await operator.post(`/tools-packages/files/${ids.get('everybodys')}/yank`)
    expect(answer.headers.get('location')).toMatch('/tools-packages/public/everybodys?')
  })
})
