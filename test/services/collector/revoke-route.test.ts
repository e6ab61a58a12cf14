import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CollectorTokenOptions } from '../../../services/shared/collector-token.ts'
import { createHarness } from './support/harness.ts'
import type { Harness } from './support/harness.ts'
import { freshId } from './support/otlp.ts'
import { A, authorizationOf } from './support/tokens.ts'

const PLATFORM: CollectorTokenOptions = { scopes: ['tokens:revoke'] }

describe('a token that the platform revokes', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await createHarness({}, { revocationsMs: 3_600_000 })
  })
  afterAll(() => harness.stop())

  const revoke = async (path: string, claims = PLATFORM) => {
    const response = await fetch(`${harness.collector.url}/api/revoked-tokens/${path}`, {
      method: 'PUT',
      headers: { authorization: await authorizationOf(claims) },
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const read = async (url: string, id: string): Promise<number> => {
    const headers = { authorization: await authorizationOf({ id, organization: A }) }
    return (await fetch(`${url}/api/traces`, { headers })).status
  }

  it('is refused at once here, and by another replica when it reads the list', async () => {
    const { url } = harness.collector
    const other = await harness.another({}, { revocationsMs: 20 })
    const id = freshId()
    expect(await read(url, id)).toBe(200)
    expect(await revoke(`${id}?reason=left%20in%20a%20repository`)).toEqual({
      status: 200,
      body: { token_id: id, revoked_before: false },
    })
    expect(await read(url, id)).toBe(401)
    await expect.poll(() => read(other.url, id)).toBe(401)
    expect(await revoke(id)).toMatchObject({ body: { revoked_before: true } })
    const [row] = await harness.sql`select reason from revoked_tokens where id = ${id}`
    expect(row).toEqual({ reason: 'left in a repository' })
  })

  it.each<[string, CollectorTokenOptions]>([
    ['a token of an organization', { ...PLATFORM, organization: A }],
    ['one that writes, reads and deletes', { scopes: ['traces:write', 'traces:read'] }],
    ['one that deletes', { scopes: ['traces:delete'] }],
    ['an old one without a scope', {}],
  ])('stays good when another asks: %s', async (_, claims) => {
    const id = freshId()
    expect((await revoke(id, claims)).status).toBe(403)
    expect(await read(harness.collector.url, id)).toBe(200)
  })

  it.each([
    ['an id without end', 'x'.repeat(129), 'The id of a token has 1 to 128 characters.'],
    ['an id that no database has', 'a%00b', 'The id of a token has 1 to 128 characters.'],
    ['a reason that is empty', 'a?reason=', 'reason must have 1 to 512 characters'],
    ['a parameter that is unknown', 'a?why=x', 'There is no parameter "why"'],
  ])('needs sense: %s', async (_, path, message) => {
    const { status, body } = await revoke(path)
    expect(status).toBe(400)
    expect(body['message']).toContain(message)
  })
})
