import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isSourceLink, sourceLink } from '../../../services/shared/source-link.ts'
import { seedOwnAutomation, seedSource } from '../../support/own-crew.ts'
import { openPlatform, SECRET } from './support/platform.ts'
import type { Platform } from './support/platform.ts'

let platform: Platform
let sourceId: number

beforeAll(async () => {
  platform = await openPlatform()
  const automation = await seedOwnAutomation(platform.sql, 'Own crew')
  sourceId = (await seedSource(platform.sql, automation, { text: 'the archive' })).id
})

afterAll(() => platform.close())

describe('the download of a source', () => {
  const ask = async (link: string, method = 'GET') => platform.app.request(link, { method })

  it('gives the archive to whoever has a link of a worker, without a session', async () => {
    const answer = await ask(sourceLink(SECRET, sourceId))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-length')).toBe('11')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.text()).toBe('the archive')
    expect((await ask(sourceLink(SECRET, sourceId + 1))).status).toBe(404)
    expect((await ask(sourceLink(SECRET, sourceId), 'POST')).status).toBe(405)
  })

  it('refuses a link that is for another source, was changed, or has ended', async () => {
    const link = sourceLink(SECRET, sourceId)
    const past = sourceLink(SECRET, sourceId, Date.now() - 13 * 3_600_000)
    const wrong = [
      link.replace(`/sources/${sourceId}/`, `/sources/${sourceId + 1}/`),
      link.replace(/expires=(\d)/, 'expires=9'),
      link.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      link.replace(/\?.*$/, ''),
      past,
      sourceLink(`${SECRET}, another one`, sourceId),
    ]
    for (const each of wrong) {
      const answer = await ask(each)
      expect(answer.status, each).toBe(403)
      expect(await answer.text()).toContain('This link to a source has ended')
    }
  })

  it('has links that stay the same for hours and are good for six at the least', () => {
    const hour = 3_600_000
    const start = Date.UTC(2026, 0, 1)
    for (let at = start; at < start + 24 * hour; at += hour / 2) {
      const link = new URL(sourceLink(SECRET, 5, at), 'http://web')
      const [expires, signature] = ['expires', 'signature'].map((key) => link.searchParams.get(key))
      const given = { id: '5', expires: expires ?? '', signature: signature ?? '' }
      const keys = { secretKeyBase: 'the next one', previousSecretKeyBase: SECRET }
      expect(isSourceLink(keys, given, at + 6 * hour - 1000)).toBe(true)
      expect(isSourceLink(keys, given, at + 12 * hour)).toBe(false)
    }
    const links = Array.from({ length: 48 }, (_, i) =>
      sourceLink(SECRET, 5, start + (i * hour) / 2),
    )
    expect(new Set(links).size).toBeLessThanOrEqual(5)
  })
})
