import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRepositorySeals } from '../../../../../services/platform/crews/source-repository-seals.ts'
import { createLog } from '../../../../../services/shared/log.ts'
import { resealKeys } from '../../../../../services/tasks/reseal-keys.ts'
import { HOSTILE_ADDRESSES } from '../../../../support/hostile-addresses.ts'
import { BASE_URL, openPlatform, readObject, SECRET } from '../../support/platform.ts'
import type { Platform } from '../../support/platform.ts'

const PLACE = { url: 'https://git.test/acme/crew.git', ref: 'main' }
const PUSH = JSON.stringify({ ref: 'refs/heads/main', after: 'a'.repeat(40) })
let platform: Platform
let token: string
let crew: string
/** The token of calls, unless it is that of the organization. */
let caller = ''

beforeAll(async () => {
  platform = await openPlatform()
  token = await platform.issueToken(platform.acme)
  const { automation_id: id } = await call('POST', '', { name: 'Crew' })
  crew = `/${String(id)}`
})
afterAll(() => platform.close())

type Answer = Record<string, unknown> & { readonly status: number }

async function call(method: string, path: string, json?: unknown): Promise<Answer> {
  const response = await platform.app.request(`${BASE_URL}/designer/v2/automations${path}`, {
    method,
    headers: { authorization: `Bearer ${caller || token}`, 'content-type': 'application/json' },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  const body = response.status === 204 ? {} : await readObject(response)
  return { ...body, status: response.status }
}

async function send(body: string, headers: Record<string, string>, path = crew) {
  const given = { method: 'POST', headers, body }
  const response = await platform.app.request(`${BASE_URL}/git-webhooks${path}`, given)
  return response.status
}

const sign = (secret: string, body = PUSH): string =>
  createHmac('sha256', secret).update(body).digest('hex')

async function makeSecret(): Promise<string> {
  const { secret, url } = await call('POST', `${crew}/repository/webhook`)
  expect(url).toBe(`${BASE_URL}/git-webhooks${crew}`)
  return String(secret)
}

describe('the API of Git repositories', () => {
  it('keeps a repository, and never shows its token', async () => {
    expect(await call('GET', `${crew}/repository`)).toMatchObject({ status: 404 })
    const saved = await call('PUT', `${crew}/repository`, { ...PLACE, token: 'glpat-1' })
    expect(saved).toMatchObject({ status: 200, ...PLACE, has_token: true, is_pulling: false })
    expect(JSON.stringify(saved)).not.toContain('glpat-1')
    const stays = await call('PUT', `${crew}/repository`, { ...PLACE, directory: 'crews/one' })
    expect(stays).toMatchObject({ has_token: true, directory: 'crews/one' })
    const elsewhere = { ...PLACE, url: 'https://other.test/acme/crew.git' }
    expect(await call('PUT', `${crew}/repository`, elsewhere)).toMatchObject({ has_token: false })
    const pulled = await call('POST', `${crew}/repository/pull`)
    expect(pulled).toMatchObject({ status: 202, is_pulling: true })
  })

  it.each([
    { url: 'https://ada:hunter2@git.test/crew.git' },
    { url: 'file:///etc' },
    { ref: '--upload-pack=x' },
    { ref: 'a..b' },
    { directory: '../x' },
    { token: 'two words' },
  ])('refuses %j, without repeating a secret', async (given) => {
    const answer = await call('PUT', `${crew}/repository`, { ...PLACE, ...given })
    expect(answer.status).toBe(422)
    expect(JSON.stringify(answer)).not.toMatch(/hunter2|two words/)
  })

  it.each(['git@github.com:acme/crew.git', 'ssh://git@git.test:2222/acme/crew.git'])(
    'says what to do instead of %s',
    async (url) => {
      const { status, detail } = await call('PUT', `${crew}/repository`, { ...PLACE, url })
      expect([status, detail]).toEqual([
        422,
        expect.stringContaining('not supported. Give the https'),
      ])
    },
  )

  it('keeps a token for its host, whatever another spelling makes of it', async () => {
    await call('PUT', `${crew}/repository`, { ...PLACE, token: 'glpat-1' })
    const { cookie, csrfToken } = await platform.signIn(platform.acme)
    for (const url of HOSTILE_ADDRESSES.filter((each) => !each.includes('\0'))) {
      const { status } = await call('PUT', `${crew}/repository`, { ...PLACE, url })
      const response = await platform.app.request(
        `${BASE_URL}/automations${crew}/crew-repository`,
        {
          method: 'POST',
          headers: { cookie },
          body: new URLSearchParams({ csrf_token: csrfToken, ...PLACE, url }),
        },
      )
      expect([status, response.status], url).toEqual([422, 422])
    }
    const kept = await call('GET', `${crew}/repository`)
    expect(kept).toMatchObject({ ...PLACE, has_token: true, is_pulling: false })
  })

  it('says in which form to write an address', async () => {
    const url = 'https://GIT.test:443/acme/../crew.git'
    const { detail } = await call('PUT', `${crew}/repository`, { ...PLACE, url })
    expect(detail).toContain('must be written as https://git.test/crew.git:')
  })

  it('is for its organization only', async () => {
    caller = await platform.issueToken(platform.rival)
    expect((await call('PUT', `${crew}/repository`, PLACE)).status).toBe(404)
    caller = ''
  })
})

describe('the webhook of a repository', () => {
  it('hears of pushes to its branch as each kind of server signs them', async () => {
    await call('PUT', `${crew}/repository`, PLACE)
    const secret = await makeSecret()
    const form = new URLSearchParams({ payload: PUSH }).toString()
    const forms = { 'content-type': 'application/x-www-form-urlencoded' }
    const github = (body: string) => ({ 'x-hub-signature-256': `sha256=${sign(secret, body)}` })
    expect(await send(PUSH, github(PUSH))).toBe(202)
    expect(await send(form, { ...forms, ...github(form) })).toBe(202)
    expect(await send(PUSH, { 'x-gitlab-token': secret })).toBe(202)
    expect(await send(PUSH, { 'x-gitea-signature': sign(secret) })).toBe(202)
    expect(await call('GET', `${crew}/repository`)).toMatchObject({ is_pulling: true })
    const other = JSON.stringify({ ref: 'refs/heads/other', after: 'a'.repeat(40) })
    const gone = JSON.stringify({ ref: 'refs/heads/main', after: '0'.repeat(40) })
    for (const body of [other, gone, '{"zen":"x"}']) {
      expect(await send(body, github(body))).toBe(200)
    }
    expect(await send(PUSH, { 'x-github-event': 'delete', ...github(PUSH) })).toBe(200)
  })

  it('is hidden from whoever does not have the secret, and slows them down', async () => {
    const former = await makeSecret()
    const secret = await makeSecret()
    const wrong: Record<string, string>[] = [
      {},
      { 'x-gitlab-token': former },
      { 'x-hub-signature-256': sign(former) },
    ]
    for (const headers of wrong) expect(await send(PUSH, headers)).toBe(404)
    const nobody = '/00000000-0000-4000-8000-000000000000'
    expect(await send(PUSH, { 'x-gitlab-token': secret }, nobody)).toBe(404)
    expect(await Promise.all(Array.from({ length: 80 }, () => send(PUSH, {})))).toContain(429)
    expect(await send(PUSH, { 'x-gitlab-token': secret })).toBe(202)
    await call('DELETE', `${crew}/repository/webhook`)
    expect(await send(PUSH, { 'x-gitlab-token': secret })).toBe(429)
  })
})

describe('the secrets of a repository', () => {
  it('are sealed anew with the others', async () => {
    await call('PUT', `${crew}/repository`, { ...PLACE, token: 'glpat-2' })
    const secret = await makeSecret()
    const { sql } = platform
    const pair = { current: 'n'.repeat(32), previous: SECRET }
    await resealKeys(sql, pair, createLog({ name: 'test', level: 'silent' }))
    const seals = createRepositorySeals(pair.current)
    const [row] = await sql<
      [{ deploymentId: number; sealedCredential: Buffer; sealedWebhookSecret: Buffer }]
    >`select deployment_id, sealed_credential, sealed_webhook_secret from source_repositories`
    const { deploymentId, sealedCredential, sealedWebhookSecret } = row
    expect(seals.open(sealedCredential, { deploymentId, kind: 'credential' })).toBe('glpat-2')
    const key = { deploymentId, kind: 'webhook_secret' } as const
    expect(seals.open(sealedWebhookSecret, key)).toBe(secret)
  })
})
