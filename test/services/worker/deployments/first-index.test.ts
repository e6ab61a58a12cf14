import { describe, expect, it } from 'vitest'
import { startFirstIndex } from '../../../../services/worker/deployments/process/first-index.ts'
import { startHttpServer } from '../../../support/http-server.ts'

const PAGES = new Map([
  ['/tools/organization/simple/acme-tool/', '<a href="../../files/acme.whl#sha256=1">acme.whl</a>'],
  ['/tools/organization/simple/shared/', '<a href="../../../public/files/shared.whl">s</a>'],
  ['/tools/organization/files/acme.whl', 'the bytes'],
])

describe('the index that pip asks', () => {
  it('has the names of the organization, and sends pip elsewhere for others only', async () => {
    const asked = new Set<string | undefined>()
    const web = await startHttpServer(({ url = '', headers }, response) => {
      asked.add(headers.authorization)
      const page = PAGES.get(url)
      response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(page)
    })
    const organization = { url: `${web.url}/tools/organization/simple/`, token: 'ctr_1' }
    const index = await startFirstIndex({ organization, publicUrl: 'https://pypi.example/simple/' })
    const get = async (path: string) => {
      const response = await fetch(new URL(path, index.url), { redirect: 'manual' })
      const { status, headers } = response
      return [status, headers.get('location') ?? (await response.text())]
    }
    const root = new URL(index.url).pathname.replace('/simple/', '')
    try {
      expect(root).toMatch(/^\/[\w-]{43}$/)
      const own = `<a href="${root}/tools/organization/files/acme.whl#sha256=1">acme.whl</a>`
      expect(await get('acme-tool/')).toEqual([200, own])
      expect(await get('shared/')).toEqual([
        200,
        `<a href="${root}/tools/public/files/shared.whl">s</a>`,
      ])
      expect(await get(`${root}/tools/organization/files/acme.whl`)).toEqual([200, 'the bytes'])
      expect(await get('other/')).toEqual([302, 'https://pypi.example/simple/other/'])
      expect(await get('crew-runtime/')).toEqual([404, ''])
      for (const path of [
        '/',
        root,
        `${root}/`,
        `${root}/tools/organization/simple/acme-tool/`,
        `${root}/health`,
        `${root}/simple/../x/`,
        '/simple/acme-tool/',
        '/tools/organization/files/acme.whl',
        `${root}x/simple/acme-tool/`,
        '/x/simple/acme-tool/',
      ]) {
        expect(await get(path), path).toEqual([404, ''])
      }
      expect([...asked]).toEqual(['Bearer ctr_1'])
    } finally {
      await Promise.all([index.stop(), web.stop()])
    }
  })

  it('says that the tools index does not answer instead of asking strangers', async () => {
    const web = await startHttpServer((_, response) => response.writeHead(503).end())
    const organization = { url: `${web.url}/tools/organization/simple/`, token: 'ctr_1' }
    const index = await startFirstIndex({ organization, publicUrl: 'https://pypi.example/simple/' })
    try {
      const response = await fetch(new URL('acme-tool/', index.url), { redirect: 'manual' })
      expect([response.status, await response.text()]).toEqual([
        502,
        'The tools index answers HTTP 503.',
      ])
    } finally {
      await Promise.all([index.stop(), web.stop()])
    }
  })
})
