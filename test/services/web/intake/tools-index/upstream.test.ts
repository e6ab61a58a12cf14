import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  ensurePublicToolRepository,
  ensureToolRepository,
} from '../../../../../services/platform/tools/tools.ts'
import type { Service } from '../../../../../services/shared/http/serve.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { start } from '../../../../../services/web/start.ts'
import { readUpstreamPage } from '../../../../../services/web/intake/tools-index/upstream/read-page.ts'
import { startHttpServer } from '../../../../support/http-server.ts'
import { environment, openPlatform } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'
import { makeWheel, storeWheel } from '../../support/wheels.ts'
import type { Wheel } from '../../support/wheels.ts'

const JSON_TYPE = 'application/vnd.pypi.simple.v1+json'
const ROOM = 40_000
const SIGN_IN = { TOOLS_UPSTREAM_USERNAME: 'reader', TOOLS_UPSTREAM_PASSWORD: 'of-the-index' }
const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex')

/** A public index with a sign-in, whose pages a test sets, and which notes what it is asked. */
async function startIndex() {
  const pages = new Map<string, object>()
  const files = new Map<string, Uint8Array | string>()
  const asked: string[] = []
  let isAway = false
  const server = await startHttpServer(({ url = '', headers }, response: ServerResponse) => {
    asked.push(url)
    if (isAway) return void response.writeHead(500).end()
    if (headers.authorization !== `Basic ${btoa('reader:of-the-index')}`) {
      return void response.writeHead(401).end()
    }
    const page = pages.get(url)
    const file = files.get(url)
    const etag = `"${pages.size}"`
    if (page && headers['if-none-match'] === etag) return void response.writeHead(304).end()
    if (page) {
      response.writeHead(200, { 'content-type': JSON_TYPE, etag }).end(JSON.stringify(page))
    } else if (typeof file === 'string') response.writeHead(302, { location: file }).end()
    else if (file) response.writeHead(200, { 'content-length': file.length }).end(file)
    else response.writeHead(404).end()
  })
  return {
    ...server,
    asked,
    files,
    fail: (away: boolean) => void (isAway = away),
    /** Offers wheels of one name; `change` replaces what the page says of each. */
    offer(name: string, wheels: readonly Wheel[], change: object = {}): void {
      for (const { filename, content } of wheels) files.set(`/files/${filename}`, content)
      const entries = wheels.map(({ filename, content }) => ({
        filename,
        url: `../../files/${filename}`,
        hashes: { sha256: sha256(content) },
        ...change,
      }))
      pages.set(`/simple/${name}/`, { meta: {}, name, files: entries })
    },
  }
}

let platform: Platform
let web: Service
let index: Awaited<ReturnType<typeof startIndex>>
let token: string
/** Keeps the files of an index, and notes with which headers they are fetched. */
let store: Awaited<ReturnType<typeof startHttpServer>>
const stored: [IncomingMessage['headers'], string][] = []
const silent = createLog({ name: 'web', level: 'silent' })

beforeAll(async () => {
  ;[platform, index] = await Promise.all([openPlatform(), startIndex()])
  token = await platform.issueToken(platform.acme)
  store = await startHttpServer(({ headers, url = '' }, response) => {
    stored.push([headers, url])
    response.end(makeWheel('stored', '1.0').content)
  })
  const upstream = {
    TOOLS_UPSTREAM: `${index.url}/simple/`,
    TOOLS_UPSTREAM_PRIVATE_ORIGINS: store.url,
    TOOLS_UPSTREAM_CACHE_MAX: String(ROOM),
    ...SIGN_IN,
  }
  web = await start({ ...environment(platform.url), ...upstream }, { log: silent, lingerMs: 0 })
})
beforeEach(async () => {
  await platform.sql`truncate tool_repositories, upstream_pages, upstream_files cascade`
  index.asked.length = 0
  index.fail(false)
})
afterAll(async () => {
  await web.stop()
  await Promise.all([platform.close(), index.stop(), store.stop()])
})

function get(path: string, as = token): Promise<Response> {
  const headers = { accept: JSON_TYPE, ...(as ? { authorization: `Bearer ${as}` } : {}) }
  return fetch(new URL(path, `${web.url}/tools/organization/simple/`), { headers })
}

async function filesOf(name: string): Promise<{ filename: string; url: string }[]> {
  const response = await get(`${name}/`)
  return response.status === 200 ? JSON.parse(await response.text()).files : []
}

/** Reads a file to its end; undefined when it breaks off. */
async function read(name: string, { url }: { url: string }): Promise<Buffer | undefined> {
  const response = await get(new URL(url, `${web.url}/tools/organization/simple/${name}/`).href)
  expect(response.status).toBe(200)
  return response.arrayBuffer().then(
    (bytes) => Buffer.from(bytes),
    () => undefined,
  )
}

const keptFiles = async () =>
  (await platform.sql`select sha256 from upstream_files`).map(({ sha256: one }) =>
    one.toString('hex'),
  )

describe('the public index behind the tools index', () => {
  it('gives names that nobody has here, and is asked once for each page and file', async () => {
    const wheels = [makeWheel('far-away', '1.0'), makeWheel('far-away', '2.0', '>=3.10')]
    index.offer('far-away', wheels, { 'requires-python': '>=3.10', yanked: 'no good' })
    const files = await filesOf('far-away')
    const [first, second] = wheels.map(({ content }) => sha256(content))
    expect(files).toEqual([
      {
        filename: 'far_away-1.0-py3-none-any.whl',
        url: `../../upstream/far-away/${first}/far_away-1.0-py3-none-any.whl`,
        hashes: { sha256: first },
        'requires-python': '>=3.10',
        yanked: 'no good',
      },
      expect.objectContaining({ hashes: { sha256: second } }),
    ])
    for (let again = 0; again < 2; again += 1) {
      for (const [at, file] of files.entries()) {
        expect(await read('far-away', file)).toEqual(wheels[at]?.content)
      }
      await filesOf('far-away')
    }
    expect(index.asked).toEqual([
      '/simple/far-away/',
      ...wheels.map((one) => `/files/${one.filename}`),
    ])
  })

  it('serves what it kept of a page while it is old, and after the index has gone', async () => {
    index.offer('lasting', [makeWheel('lasting', '1.0')])
    await filesOf('lasting')
    const age = () => platform.sql`update upstream_pages set fetched_at = now() - interval '1 hour'`
    await age()
    expect(await filesOf('lasting')).toHaveLength(1)
    await filesOf('lasting')
    expect(index.asked).toEqual(['/simple/lasting/', '/simple/lasting/'])
    await age()
    index.fail(true)
    expect(await filesOf('lasting')).toHaveLength(1)
    const unknown = await get('unknown/')
    expect([unknown.status, await unknown.text()]).toEqual([
      502,
      expect.stringContaining('it answers HTTP 500'),
    ])
  })

  it('is never asked for a name of the organization or of the platform', async () => {
    const { sql, acme } = platform
    const own = await ensureToolRepository(sql, acme.organizationId)
    const shared = await ensurePublicToolRepository(sql, 'public')
    const names = { taken: own, shared, 'crew-runtime': undefined }
    for (const [name, repositoryId] of Object.entries(names)) {
      const stranger = makeWheel(name, '99.0')
      index.offer(name, [stranger])
      if (repositoryId !== undefined) {
        await storeWheel(sql, { repositoryId, uploadedBy: null }, makeWheel(name, '1.0'))
      }
      const shown = (await filesOf(name)).map(({ filename }) => filename)
      const mine = repositoryId === undefined ? [] : [makeWheel(name, '1.0').filename]
      expect(shown, name).toEqual(mine)
      const path = `../upstream/${name}/${sha256(stranger.content)}/${stranger.filename}`
      expect((await get(path)).status, name).toBe(404)
    }
    expect(index.asked).toEqual([])
    // Another organization does not have the name.
    const rival = await platform.issueToken(platform.rival)
    const page = await get('taken/', rival)
    expect(await page.text()).toContain('99.0')
  })

  it('stands behind the index of organizations alone, and their tokens', async () => {
    index.offer('guarded', [makeWheel('guarded', '1.0')])
    expect((await get('guarded/', '')).status).toBe(401)
    await ensurePublicToolRepository(platform.sql, 'public')
    expect((await get('/tools/public/simple/guarded/')).status).toBe(404)
    expect(index.asked).toEqual([])
  })

  it('never hands over the end of a file that is another one, and keeps none of it', async () => {
    const [honest, forged] = [makeWheel('forged', '1.0'), makeWheel('forged', '1.1')]
    index.offer('forged', [honest])
    index.files.set(`/files/${honest.filename}`, forged.content)
    const [file] = await filesOf('forged')
    expect(file && (await read('forged', file))).toBeUndefined()
    expect(await keptFiles()).toEqual([])
    const elsewhere = `../upstream/forged/${sha256(forged.content)}/${honest.filename}`
    expect((await get(elsewhere)).status).toBe(404)
  })

  it('is signed in to at its own origin, not where a link or a redirect leads', async () => {
    const wheel = makeWheel('stored', '1.0')
    index.offer('stored', [wheel])
    index.files.set(`/files/${wheel.filename}`, `${store.url}/redirected`)
    const [file] = await filesOf('stored')
    expect(file && (await read('stored', file))).toEqual(wheel.content)
    await platform.sql`truncate upstream_pages, upstream_files cascade`
    index.offer('stored', [wheel], { url: `${store.url}/linked` })
    const [linked] = await filesOf('stored')
    expect(linked && (await read('stored', linked))).toEqual(wheel.content)
    expect(stored.map(([{ authorization }, url]) => [authorization, url])).toEqual([
      [undefined, '/redirected'],
      [undefined, '/linked'],
    ])
  })

  it('reaches no other private address, neither by a link nor by a redirect', async () => {
    const wheel = makeWheel('inside', '1.0')
    let reached = 0
    const inside = await startHttpServer((_, response) => {
      reached += 1
      response.end(wheel.content)
    })
    try {
      const change = { url: `${inside.url}/x` }
      index.offer('inside', [wheel], change)
      const redirected = makeWheel('around', '1.0')
      index.offer('around', [redirected])
      index.files.set(`/files/${redirected.filename}`, `${inside.url}/x`)
      for (const name of ['inside', 'around']) {
        const [file] = await filesOf(name)
        const url = new URL(file?.url ?? '', `${web.url}/tools/organization/simple/${name}/`)
        const refused = await get(url.href)
        expect(await refused.text(), name).toContain('TOOLS_UPSTREAM_PRIVATE_ORIGINS')
        expect(refused.status, name).toBe(502)
      }
      expect(reached).toBe(0)
    } finally {
      await inside.stop()
    }
  })

  it('keeps what was used last within its room, and refuses what would not fit', async () => {
    const bulky = (version: string, size: number): Wheel => {
      const wheel = makeWheel('bulky', version)
      return { ...wheel, content: Buffer.concat([wheel.content, Buffer.alloc(size)]) }
    }
    const wheels = [bulky('1.0', 15_000), bulky('2.0', 15_000), bulky('3.0', 15_000)]
    index.offer('bulky', [...wheels, bulky('4.0', ROOM)])
    const [one, two, three, huge] = await filesOf('bulky')
    if (!one || !two || !three || !huge) throw new Error('files are missing')
    await read('bulky', one)
    await read('bulky', two)
    await read('bulky', one)
    await read('bulky', three)
    const [first, , third] = wheels.map(({ content }) => sha256(content))
    expect(new Set(await keptFiles())).toEqual(new Set([first, third]))
    const refused = await get(new URL(huge.url, `${web.url}/tools/organization/simple/bulky/`).href)
    expect(await refused.text()).toContain(`at most ${ROOM} are fetched`)
    expect(refused.status).toBe(502)
  })

  it.skipIf(!hasPip)('lets pip install by its own names', { timeout: 120_000 }, async () => {
    const wheel = makeWheel('By.Pip', '1.0')
    index.offer('by-pip', [wheel])
    const folder = await mkdtemp(join(tmpdir(), 'upstream-'))
    try {
      const simple = new URL('/tools/organization/simple/', web.url)
      Object.assign(simple, { username: '__token__', password: token })
      const args = ['-m', 'pip', 'download', '--no-deps', '--index-url', simple.href, 'by_pip']
      const env = { PATH: process.env['PATH'], HOME: folder, PIP_CONFIG_FILE: '/dev/null' }
      const child = spawn('python3', args, { cwd: folder, env: { ...env, NO_PROXY: '*' } })
      const [code] = await once(child, 'close')
      expect([code, await readdir(folder)]).toEqual([0, expect.arrayContaining([wheel.filename])])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

describe('a page of a public index', () => {
  const HASH = 'a'.repeat(64)
  const read = (body: string, type = 'text/html', at = 'https://pypi.example/simple/demo/') =>
    readUpstreamPage({ name: 'demo', url: new URL(at), type, body })

  it('is read as HTML, with what PEP 503, 592 and 658 add', () => {
    const link = `../../files/demo-1.0-py3-none-any.whl#sha256=${HASH}`
    const python = 'data-requires-python="&gt;=3.8&#44;&lt;4"'
    const attributes = `${python} data-core-metadata='sha256=${HASH}'`
    expect(read(`<a href="${link}" ${attributes} data-yanked="">demo</a>`)).toEqual([
      {
        filename: 'demo-1.0-py3-none-any.whl',
        url: 'https://pypi.example/files/demo-1.0-py3-none-any.whl',
        sha256: HASH,
        metadataSha256: HASH,
        size: null,
        requiresPython: '>=3.8,<4',
        yankedReason: '',
        uploadedAt: null,
      },
    ])
  })

  it('loses what nobody can check, other names, and links that leave TLS', () => {
    const links = [
      'demo-1.0-py3-none-any.whl',
      'demo-1.0-py3-none-any.whl#md5=0123',
      `other-1.0-py3-none-any.whl#sha256=${HASH}`,
      `demo-1.0.exe#sha256=${HASH}`,
      `http://pypi.example/demo-1.0-py3-none-any.whl#sha256=${HASH}`,
      `javascript:demo-1.0-py3-none-any.whl#sha256=${HASH}`,
      `%zz#sha256=${HASH}`,
    ]
    expect(read(links.map((link) => `<a href="${link}">x</a>`).join(''))).toEqual([])
  })

  it('is refused when it is something else', () => {
    const wrong = [
      ['{"files": [', JSON_TYPE],
      ['{"files": [{"filename": 1}]}', JSON_TYPE],
      ['Please sign in.', 'text/plain'],
    ] as const
    for (const [body, type] of wrong) {
      expect(() => read(body, type), body).toThrow('does not send a page of files for demo')
    }
  })
})
