import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startDatabaseProxy } from '../../../support/database-proxy.ts'
import type { DatabaseProxy } from '../../../support/database-proxy.ts'
import { openWeb } from '../diagnostics/support/web.ts'
import { openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

/** More answers than a change takes. */
const ANSWERS_MAX = 40

let platform: Platform
let proxy: DatabaseProxy
let token: string

beforeAll(async () => {
  platform = await openPlatform()
  proxy = await startDatabaseProxy(platform.url)
  token = await platform.issueToken(platform.acme)
})

afterAll(async () => {
  await proxy.close()
  await platform.close()
})

/** How many projects there are of a name, and how many entries of the audit tell of one. */
async function countBoth(name: string): Promise<readonly [number, number]> {
  const [row] = await platform.sql<[{ projects: number; entries: number }]>`
    select (select count(*)::int from projects where name = ${name}) as projects,
      (select count(*)::int from audit_entries
        where not refused and action = 'project_created'
          and target_name = ${name}) as entries`
  return [row.projects, row.entries]
}

describe('a change that is cut off from the database', () => {
  it('is there with its entry in the audit or not at all, wherever it is cut', async () => {
    const counts: (readonly [number, number])[] = []
    for (let answers = 0, isCut = true; isCut; answers += 1) {
      expect(answers).toBeLessThan(ANSWERS_MAX)
      // A pool of its own, whose first connection is open before anything is cut.
      const web = openWeb({ databaseUrl: proxy.url })
      await web.sql`select 1`
      isCut = false
      let left = answers
      proxy.cutWhen(() => (isCut = left-- === 0))
      const name = `cut after ${answers}`
      await web.app.request('/designer/v2/projects', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      })
      proxy.cutWhen(() => false)
      await web.close()
      counts.push(await countBoth(name))
    }
    expect(counts.filter(([projects, entries]) => projects !== entries)).toEqual([])
    expect(counts[0]).toEqual([0, 0])
    expect(counts.at(-1)).toEqual([1, 1])
  })
})
