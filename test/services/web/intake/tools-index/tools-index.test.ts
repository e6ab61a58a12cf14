import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureOrganization } from '../../../../../services/platform/people/organizations.ts'
import { issueStaticToken } from '../../../../../services/platform/automations/static-tokens.ts'
import { ensurePublicToolRepository } from '../../../../../services/platform/tools/tools.ts'
import { makeWheel, uploadForm } from '../../support/wheels.ts'
import type { Wheel } from '../../support/wheels.ts'
import { signToolsReadToken } from '../../../../../services/shared/tools-read-token.ts'
import { openPlatform, readObject, SECRET } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
let platform: Platform
let platformToken: string
let acmeToken: string
let rivalToken: string

beforeAll(async () => {
  platform = await openPlatform()
  acmeToken = await platform.issueToken(platform.acme)
  rivalToken = await platform.issueToken(platform.rival)
  const { id: organizationId } = await ensureOrganization(platform.sql, {
    name: 'Platform',
    internal: true,
  })
  const token = { organizationId, deploymentId: null, name: 'test', createdBy: null }
  platformToken = await issueStaticToken(platform.sql, token)
})

beforeEach(async () => {
  await platform.sql`delete from tool_repositories`
  await ensurePublicToolRepository(platform.sql, 'public')
})

afterAll(() => platform.close())

const basic = (token: string, user = '__token__') =>
  `Basic ${Buffer.from(`${user}:${token}`).toString('base64')}`

function get(path: string, { token = '', accept = '' } = {}) {
  return platform.app.request(`/tools${path}`, {
    headers: {
      ...(token ? { authorization: basic(token) } : {}),
      ...(accept ? { accept } : {}),
    },
  })
}

function send(path: string, body: FormData, token = acmeToken) {
  const headers = { authorization: basic(token) }
  return platform.app.request(`/tools${path}`, { method: 'POST', body, headers })
}

const upload = async (wheel: Wheel, path = '/organization/', token = acmeToken) =>
  send(path, uploadForm(wheel), token)

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')

async function pageOf(path: string, token = '') {
  const response = await get(path, { token })
  expect(response.status).toBe(200)
  return response.text()
}

async function jsonOf(path: string, token = '') {
  const response = await get(path, { token, accept: JSON_TYPE })
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe(JSON_TYPE)
  return readObject(response)
}

describe('the public tools index (SPEC 2.3)', () => {
  it('shows uploads of the platform to all, as HTML and JSON (PEP 503, 691, 700)', async () => {
    const wheel = makeWheel('My.Tool', '1.0', '>=3.9')
    const form = uploadForm(wheel, { requires_python: '>=3.9' })
    const stored = await send('/public/', form, platformToken)
    expect([stored.status, await stored.json()]).toEqual([200, { status: 'stored' }])
    const hash = sha256(wheel.content)

    expect(await pageOf('/public/simple/')).toContain('<a href="my-tool/">my-tool</a>')
    const page = await pageOf('/public/simple/my-tool/')
    expect(page).toContain(`href="../../files/${wheel.filename}#sha256=${hash}"`)
    expect(page).toContain('data-requires-python="&gt;=3.9"')
    expect(page).not.toContain('data-yanked')

    expect(await jsonOf('/public/simple/')).toEqual({
      meta: { 'api-version': '1.1' },
      projects: [{ name: 'my-tool' }],
    })
    expect(await jsonOf('/public/simple/my-tool/')).toEqual({
      meta: { 'api-version': '1.1' },
      name: 'my-tool',
      versions: ['1.0'],
      files: [
        {
          filename: wheel.filename,
          url: `../../files/${wheel.filename}`,
          hashes: { sha256: hash },
          'requires-python': '>=3.9',
          yanked: false,
          size: wheel.content.length,
          'upload-time': expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        },
      ],
    })
    const file = await get(`/public/files/${wheel.filename}`)
    expect(file.headers.get('content-length')).toBe(String(wheel.content.length))
    expect(file.headers.get('cache-control')).toContain('immutable')
    expect(Buffer.from(await file.arrayBuffer())).toEqual(wheel.content)
  })

  it.each([
    ['', 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
    ['text/html', 'text/html; charset=utf-8'],
    ['application/*', JSON_TYPE],
    [JSON_TYPE, JSON_TYPE],
    ['application/vnd.pypi.simple.latest+json', JSON_TYPE],
    ['application/vnd.pypi.simple.v1+html', 'application/vnd.pypi.simple.v1+html; charset=utf-8'],
    [`${JSON_TYPE}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01`, JSON_TYPE],
    [`${JSON_TYPE};q=0.1, text/html;q=0.5`, 'text/html; charset=utf-8'],
    [`${JSON_TYPE};q=0, text/html;q=0.1`, 'text/html; charset=utf-8'],
    [`${JSON_TYPE};q=x, */*;q=9`, 'text/html; charset=utf-8'],
    ['image/png', 'text/html; charset=utf-8'],
  ])('answers a client that accepts %j with %s', async (accept, type) => {
    const response = await get('/public/simple/', { accept })
    expect(response.headers.get('content-type')).toBe(type)
    expect(response.headers.get('vary')).toBe('Accept')
  })

  it('leads from each spelling of a name to its one address', async () => {
    for (const [path, to] of [
      ['/public/simple', '/tools/public/simple/'],
      ['/public/simple/My_Tool/', '/tools/public/simple/my-tool/'],
      ['/public/simple/My_Tool', '/tools/public/simple/my-tool/'],
      ['/public/simple/a%2F..%2Fb', '/tools/public/simple/a%2F-%2Fb/'],
    ]) {
      const response = await get(path ?? '')
      expect([response.status, response.headers.get('location')]).toEqual([301, to])
    }
  })

  it('says what is not there', async () => {
    for (const path of ['/public/simple/nothing/', '/public/files/nothing-1.0.tar.gz']) {
      expect((await get(path)).status).toBe(404)
    }
    await platform.sql`delete from tool_repositories`
    const unavailable = await readObject(await get('/public/simple/'))
    expect(unavailable['message']).toContain('tools:install_public_repository')
    const unknown = await (await platform.app.request('/nothing')).text()
    for (const path of ['/', '/public', '/other/simple/', '/public/simple/a/b']) {
      const response = await get(path, { token: acmeToken })
      if (path === '/public') expect(response.status).toBe(405)
      else expect(await response.text()).toBe(unknown)
    }
  })

  it('takes uploads from nobody but the internal organization', async () => {
    const wheel = makeWheel('evil', '1.0')
    expect((await upload(wheel, '/public/', acmeToken)).status).toBe(403)
    const yank = {
      method: 'PUT',
      body: '{}',
      headers: { authorization: basic(acmeToken), 'content-type': 'application/json' },
    }
    expect((await platform.app.request('/tools/public/files/x.whl/yanked', yank)).status).toBe(403)
    expect((await get('/public/simple/evil/')).status).toBe(404)
  })
})

describe('the tools index of an organization', () => {
  it('shows its own tools to its tokens only', async () => {
    const ours = makeWheel('ours', '1.0')
    expect((await upload(ours)).status).toBe(200)
    expect(await pageOf('/organization/simple/', acmeToken)).toContain('>ours</a>')
    expect(await pageOf('/organization/simple/', rivalToken)).not.toContain('ours')
    for (const path of ['/organization/simple/ours/', `/organization/files/${ours.filename}`]) {
      expect((await get(path, { token: acmeToken })).status).toBe(200)
      expect((await get(path, { token: rivalToken })).status).toBe(404)
      expect((await get(path.replace('organization', 'public'))).status).toBe(404)
      const refused = await get(path)
      expect(refused.status).toBe(401)
      expect(refused.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    }
    // Both may have a tool of that name and file.
    const theirs = makeWheel('ours', '1.0', '>=3.1')
    expect((await upload(theirs, '/organization/', rivalToken)).status).toBe(200)
    const file = await get(`/organization/files/${ours.filename}`, { token: acmeToken })
    expect(Buffer.from(await file.arrayBuffer())).toEqual(ours.content)
  })

  it('shows them to whoever builds a crew of the organization, and takes nothing', async () => {
    const wheel = makeWheel('acme-tool', '1.0')
    expect((await upload(wheel)).status).toBe(200)
    const token = signToolsReadToken(SECRET, platform.acme.organizationId)
    expect((await get('/organization/simple/acme-tool/', { token })).status).toBe(200)
    const file = await get(`/organization/files/${wheel.filename}`, { token })
    expect(Buffer.from(await file.arrayBuffer())).toEqual(wheel.content)
    const ofRival = signToolsReadToken(SECRET, platform.rival.organizationId)
    expect((await get('/organization/simple/acme-tool/', { token: ofRival })).status).toBe(404)
    const late = signToolsReadToken(SECRET, platform.acme.organizationId, { expiresAtMs: 1e12 })
    expect((await get('/organization/simple/', { token: late })).status).toBe(401)
    expect((await upload(makeWheel('acme-tool', '2.0'), '/organization/', token)).status).toBe(401)
    const headers = { authorization: `Bearer ${token}` }
    for (const path of ['/designer/v2/projects', '/designer/v2/automations']) {
      expect((await platform.app.request(path, { headers })).status, path).not.toBe(200)
    }
  })

  it('refuses tokens that are not good for the organization, in whatever shape', async () => {
    const narrow = await platform.issueToken(platform.acme, platform.acme.research.id)
    const headers = [
      basic(narrow),
      basic('x'),
      basic(acmeToken, 'ada'),
      basic(acmeToken, ''),
      `Basic ${acmeToken}`,
      'Basic !!!',
      `Basic ${'A'.repeat(5000)}`,
      'Digest x',
      '',
    ]
    for (const authorization of headers) {
      const response = await platform.app.request('/tools/organization/simple/', {
        headers: { authorization },
      })
      expect(response.status, authorization).toBe(401)
    }
    const { cookie } = await platform.signIn(platform.acme)
    const byCookie = await platform.app.request('/tools/organization/simple/', {
      headers: { cookie },
    })
    expect(byCookie.status).toBe(401)
  })

  it('shows the public tools too, but never one in the place of its own', async () => {
    await upload(makeWheel('shared', '1.0'), '/public/', platformToken)
    await upload(makeWheel('both', '9.0'), '/public/', platformToken)
    await upload(makeWheel('both', '1.0'))
    const { projects } = await jsonOf('/organization/simple/', acmeToken)
    expect(projects).toEqual([{ name: 'both' }, { name: 'shared' }])
    expect(await pageOf('/organization/simple/shared/', acmeToken)).toContain(
      'href="../../../public/files/shared-1.0-py3-none-any.whl#sha256=',
    )
    expect(await jsonOf('/organization/simple/both/', acmeToken)).toMatchObject({
      versions: ['1.0'],
    })
  })
})

describe('uploading a tool', () => {
  it('takes the same file again, and never another one of that name', async () => {
    const wheel = makeWheel('fixed', '1.0')
    expect(await (await upload(wheel)).json()).toEqual({ status: 'stored' })
    expect(await (await upload(wheel)).json()).toEqual({ status: 'present' })
    const other = { ...makeWheel('fixed', '1.0', '>=3.1'), filename: wheel.filename }
    const refused = await upload(other)
    expect(refused.status).toBe(409)
    expect((await readObject(refused))['message']).toContain('Files never change')
    const parts = await platform.sql`select 1 from tool_parts`
    expect(parts).toHaveLength(1)
  })

  it('is one file when it comes many times at once', async () => {
    const wheel = makeWheel('racing', '1.0')
    const answers = await Promise.all([1, 2, 3, 4].map(() => upload(wheel)))
    const outcomes = await Promise.all(
      answers.map(async (each) => (await readObject(each))['status']),
    )
    expect(outcomes.filter((outcome) => outcome === 'stored')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'present')).toHaveLength(3)
  })

  it.each([
    [{ ':action': 'doc_upload' }, ':action'],
    [{ ':action': undefined }, ':action'],
    [{ name: undefined }, 'name must be'],
    [{ name: '../etc' }, 'name must be'],
    [{ name: 'other' }, 'the name of the file must be'],
    [{ version: '1.x' }, 'version must be'],
    [{ version: '2.0' }, 'the name of the file must be'],
    [{ sha256_digest: undefined }, 'sha256_digest must'],
    [{ sha256_digest: 'a'.repeat(63) }, 'sha256_digest must'],
    [{ sha256_digest: 'a'.repeat(64) }, 'The file is damaged'],
    [{ requires_python: '"><script>' }, 'requires_python must'],
    [{ requires_python: '>=3\u0000' }, 'requires_python must'],
  ])('refuses %j', async (change: Record<string, string | undefined>, message) => {
    const refused = await send('/organization/', uploadForm(makeWheel('tool', '1.0'), change))
    expect(refused.status).toBe(422)
    expect((await readObject(refused))['message']).toContain(message)
    expect(await platform.sql`select 1 from tool_parts`).toHaveLength(0)
    expect(await platform.sql`select 1 from tools`).toHaveLength(0)
  })

  it.each([
    '../tool-1.0-py3-none-any.whl',
    'a/tool-1.0-py3-none-any.whl',
    'a\\tool-1.0-py3-none-any.whl',
    'tool-1.0.exe',
    'tool-1.0-py3-none-any.whl.exe',
  ])('refuses the filename %s', async (filename) => {
    const form = uploadForm(makeWheel('tool', '1.0'), {}, filename)
    expect((await send('/organization/', form)).status).toBe(422)
  })

  it('refuses what is no upload', async () => {
    const wheel = makeWheel('tool', '1.0')
    const post = (body: string, type: string) =>
      platform.app.request('/tools/organization/', {
        method: 'POST',
        body,
        headers: { authorization: basic(acmeToken), 'content-type': type },
      })
    const multipart = 'multipart/form-data; boundary=x'
    expect((await post('{}', 'application/json')).status).toBe(415)
    expect((await post('', 'multipart/form-data')).status).toBe(400)
    expect((await post('', multipart)).status).toBe(400)
    expect((await post('--x--\r\n', multipart)).status).toBe(400)
    const start =
      '--x\r\nContent-Disposition: form-data; name="content"; filename="a-1.0.tar.gz"\r\n\r\n'
    expect((await post(`${start}cut off`, multipart)).status).toBe(400)
    expect((await post(`${start}\r\n--x--\r\n`, multipart)).status).toBe(422)
    const twice = uploadForm(wheel)
    twice.append('version', '1.0')
    expect((await send('/organization/', twice)).status).toBe(400)
    const long = uploadForm(wheel, { requires_python: `>=3${' '.repeat(5000)}` })
    expect((await send('/organization/', long)).status).toBe(400)
    const empty = { ...wheel, content: Buffer.alloc(0) }
    expect((await upload(empty)).status).toBe(422)
    expect(await platform.sql`select 1 from tool_parts`).toHaveLength(0)
  })

  it('refuses an upload that is cut off, wherever, and goes on', async () => {
    const wheel = makeWheel('tool', '1.0')
    const whole = new Request('http://x', {
      method: 'POST',
      body: uploadForm(wheel, { description: 'x' }),
    })
    const type = whole.headers.get('content-type') ?? ''
    const bytes = new Uint8Array(await whole.arrayBuffer())
    const post = (body: Uint8Array<ArrayBuffer>) =>
      platform.app.request('/tools/organization/', {
        method: 'POST',
        body,
        headers: { authorization: basic(acmeToken), 'content-type': type },
      })
    for (let end = 0; end < bytes.length - 4; end += 61) {
      expect((await post(bytes.slice(0, end))).status).toBe(400)
      const damaged = Uint8Array.from(bytes)
      damaged.fill(10, end, end + 20)
      expect((await post(damaged)).status, `damaged at ${end}`).toBeGreaterThanOrEqual(200)
    }
    expect((await post(bytes)).status).toBe(200)
    expect(await platform.sql`select 1 from tool_parts`).toHaveLength(1)
  })

  it('does not mind whether the file or the fields come first', async () => {
    const wheel = makeWheel('tool', '1.0')
    const form = new FormData()
    form.append('content', new Blob([Uint8Array.from(wheel.content)]), wheel.filename)
    for (const [name, value] of uploadForm(wheel)) if (name !== 'content') form.append(name, value)
    expect((await send('/organization/', form)).status).toBe(200)
  })

  it('takes a large file in parts, and gives it back as it was', async () => {
    const wheel = { ...makeWheel('large', '1.0'), content: randomBytes(5 * 1024 * 1024 + 17) }
    expect((await upload(wheel)).status).toBe(200)
    const sizes =
      await platform.sql`select octet_length(content) as size from tool_parts order by position`
    expect(sizes.map(({ size }) => Number(size))).toEqual([
      ...Array<number>(5).fill(1024 * 1024),
      17,
    ])
    const file = await get(`/organization/files/${wheel.filename}`, { token: acmeToken })
    expect(sha256(Buffer.from(await file.arrayBuffer()))).toBe(sha256(wheel.content))
    const head = await platform.app.request(`/tools/organization/files/${wheel.filename}`, {
      method: 'HEAD',
      headers: { authorization: basic(acmeToken) },
    })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  it('stops reading at 64 MiB, whatever length was announced', async () => {
    const chunk = Buffer.alloc(1024 * 1024)
    let sent = 0
    const head =
      '--x\r\nContent-Disposition: form-data; name="content"; filename="a-1.0.tar.gz"\r\n\r\n'
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(sent === 0 ? Buffer.from(head) : chunk)
        sent += 1
        if (sent > 200) controller.close()
      },
    })
    const request = new Request('http://platform.test/tools/organization/', {
      method: 'POST',
      body,
      duplex: 'half',
      headers: {
        authorization: basic(acmeToken),
        'content-type': 'multipart/form-data; boundary=x',
      },
    } as RequestInit)
    const refused = await platform.app.request(request)
    expect(refused.status).toBe(413)
    expect(refused.headers.get('connection')).toBe('close')
    expect(sent).toBeLessThan(80)
    expect(await platform.sql`select 1 from tool_parts`).toHaveLength(0)
  })

  it('leaves a line in the log, without the token', async () => {
    platform.lines.length = 0
    await upload(makeWheel('logged', '1.0'))
    expect(platform.lines).toMatchObject([
      { audit: 'tool_uploaded', outcome: 'stored', filename: 'logged-1.0-py3-none-any.whl' },
    ])
    expect(JSON.stringify(platform.lines)).not.toContain(acmeToken)
  })
})

describe('yanking a file (PEP 592)', () => {
  const yank = (method: string, body: string, token = acmeToken) =>
    platform.app.request('/tools/organization/files/tool-1.0-py3-none-any.whl/yanked', {
      method,
      ...(method === 'PUT' ? { body } : {}),
      headers: { authorization: basic(token), 'content-type': 'application/json' },
    })

  it('tells the reason, escaped, and can be taken back', async () => {
    await upload(makeWheel('tool', '1.0'))
    expect((await yank('PUT', JSON.stringify({ reason: 'broken "<b>"' }))).status).toBe(204)
    expect(await pageOf('/organization/simple/tool/', acmeToken)).toContain(
      'data-yanked="broken &quot;&lt;b&gt;&quot;"',
    )
    const yanked = async () =>
      (await jsonOf('/organization/simple/tool/', acmeToken))['files'] as { yanked: unknown }[]
    expect(await yanked()).toMatchObject([{ yanked: 'broken "<b>"' }])
    expect((await yank('PUT', '{}')).status).toBe(204)
    expect(await yanked()).toMatchObject([{ yanked: true }])
    expect((await yank('DELETE', '')).status).toBe(204)
    expect(await yanked()).toMatchObject([{ yanked: false }])
  })

  it('is for the organization that has the file', async () => {
    await upload(makeWheel('tool', '1.0'))
    expect((await yank('PUT', '{}', rivalToken)).status).toBe(404)
    expect((await yank('DELETE', '', rivalToken)).status).toBe(404)
    expect((await yank('GET', '')).status).toBe(405)
    for (const body of ['{"reason":7}', '{"why":"x"}', '{"reason":"a\\nb"}', '[]']) {
      const status = (await yank('PUT', body)).status
      expect(status, body).toBe(body === '[]' ? 204 : 422)
    }
  })
})
