import { afterAll, beforeAll, expect, it } from 'vitest'
import { askAs } from '../support/forms.ts'
import { startRuns } from '../support/console-states.ts'
import { openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform

beforeAll(async () => {
  platform = await openPlatform()
})

afterAll(() => platform.close())

const factsOf = async (automationId: string): Promise<Record<string, string>> => {
  const ada = askAs(platform.app, await platform.signIn(platform.acme))
  const page = await (await ada.get(`/automations/${automationId}`)).text()
  return Object.fromEntries(
    [...page.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>([\s\S]*?)<\/dd>/g)].map(
      ([, name = '', fact = '']) => [
        name,
        fact
          .replace(/<[^>]*>/g, '')
          .replace(/\s+/g, ' ')
          .trim(),
      ],
    ),
  )
}

it('sums up on the page of an automation how its runs ended, and what starts them', async () => {
  const { acme, sql } = platform
  expect(await factsOf(acme.research.automationId)).toEqual({})
  await startRuns(platform)
  await sql`
    insert into schedules (deployment_id, name, cron, time_zone, missed, inputs, next_at)
    values (${acme.research.id}, 'Nightly', '0 1 * * *', 'UTC', 'skip', '{}',
      now() + interval '50 hours')`
  expect(await factsOf(acme.research.automationId)).toEqual({
    'Succeeded in 7 days': '66 % 1 of 3 failed',
    'Median time': expect.stringMatching(/^30(\.\d)? s 95 % within 30(\.\d)? s$/),
    'Cost a run': '– 2,752 tokens, see prices',
    Version: '1',
    'Starts and messages': '1 schedule (next in 2 days), 0 triggers, 0 webhooks',
  })
  expect(await factsOf(acme.digest.automationId)).toEqual({})
})
