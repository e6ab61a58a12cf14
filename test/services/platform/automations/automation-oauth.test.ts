import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  findAutomationOauth,
  findCallableAutomation,
  listAuthorizationServers,
  saveAutomationOauth,
} from '../../../../services/platform/automations/automation-oauth.ts'
import type { AutomationOauth } from '../../../../services/platform/automations/automation-oauth.ts'
import {
  listClientSightings,
  recordClient,
} from '../../../../services/platform/automations/client-sightings.ts'
import { bindOauthClient } from '../../../../services/platform/automations/automations.ts'
import type { Automation } from '../../../../services/platform/automations/automations.ts'
import { connectDatabase } from '../../../../services/shared/postgres/database.ts'
import { parseAddress } from '../../../../services/shared/postgres/address.ts'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { seedAutomation } from '../../../support/platform.ts'
import { createDatabase } from '../../../support/postgres.ts'
import type { TestDatabase } from '../../../support/postgres.ts'

let database: TestDatabase
let sql: Database
let ours: Automation
let theirs: Automation

const settings: AutomationOauth = {
  enabled: true,
  issuer: 'https://idp.test/oauth2/a',
  discoveryUrl: null,
  jwksUrl: 'https://idp.test/keys',
  tokenUrl: 'https://idp.test/token',
  audiences: ['https://platform.test', 'api://b, "c" {d}'],
  absentAudienceAllowed: true,
  scope: 'platform_automations',
  scopeClaim: 'roles',
  algorithms: ['RS256', 'EdDSA'],
  skewSeconds: 0,
  lifetimeSecondsMax: 60,
  staticTokensAllowed: false,
}

beforeAll(async () => {
  database = await createDatabase('platform')
  sql = connectDatabase(parseAddress(database.url), { name: 'test' })
  ours = await seedAutomation(sql, { organization: 'Ours', slug: 'ours' })
  theirs = await seedAutomation(sql, { organization: 'Theirs', slug: 'theirs' })
})

afterAll(async () => {
  await sql.end()
  await database.drop()
})

it('keeps OAuth settings of an organization for its automations (SPEC 5.2)', async () => {
  expect(await findAutomationOauth(sql, ours.organizationId)).toBeUndefined()
  await saveAutomationOauth(sql, ours.organizationId, { ...settings, scope: 'other' })
  await saveAutomationOauth(sql, ours.organizationId, settings)
  expect(await findAutomationOauth(sql, ours.organizationId)).toEqual(settings)
  expect(await findAutomationOauth(sql, theirs.organizationId)).toBeUndefined()
  const found = await findCallableAutomation(sql, ours.automationId.toUpperCase())
  expect(found?.automation).toMatchObject({ id: ours.id, organizationId: ours.organizationId })
  expect(found?.oauth).toMatchObject(settings)
  const other = await findCallableAutomation(sql, theirs.automationId)
  expect(other).toMatchObject({ automation: { id: theirs.id }, oauth: undefined })
  expect(await findCallableAutomation(sql, 'nonsense')).toBeUndefined()
})

const refused: readonly Partial<AutomationOauth>[] = [
  { audiences: [] },
  { issuer: 'idp.test' },
  { scope: 'two words' },
  { scope: '' },
  { algorithms: [] },
  { skewSeconds: 121 },
  { lifetimeSecondsMax: 0 },
  { jwksUrl: 'file:///etc/passwd' },
]
it.each(refused)('refuses %j', async (changes) => {
  const bad = { ...settings, ...changes }
  await expect(saveAutomationOauth(sql, ours.organizationId, bad)).rejects.toThrow(/check/)
})

it('refuses an algorithm that is not asymmetric', async () => {
  await expect(sql`update automation_oauth set algorithms = '{HS256}'`).rejects.toThrow(/check/)
})

it('names the authorization servers of those who have OAuth on', async () => {
  await saveAutomationOauth(sql, theirs.organizationId, { ...settings, enabled: false })
  expect(await listAuthorizationServers(sql)).toEqual([
    { issuer: settings.issuer, scope: settings.scope },
  ])
})

it('binds an automation to a client only for its own organization (SPEC 5.3)', async () => {
  const { automationId, organizationId } = ours
  const foreign = { automationId, organizationId: theirs.organizationId }
  expect(await bindOauthClient(sql, foreign, 'evil')).toBe(false)
  expect(await bindOauthClient(sql, { automationId: 'nonsense', organizationId }, 'x')).toBe(false)
  expect(await bindOauthClient(sql, { automationId, organizationId }, ' crm ')).toBe(true)
  expect((await findCallableAutomation(sql, automationId))?.automation.oauthClientId).toBe(' crm ')
  expect(await bindOauthClient(sql, { automationId, organizationId }, null)).toBe(true)
  expect((await findCallableAutomation(sql, automationId))?.automation.oauthClientId).toBeNull()
})

it('remembers the last client of each automation', async () => {
  await recordClient(sql, ours.id, 'first')
  await recordClient(sql, ours.id, 'second')
  const seen = await listClientSightings(sql, [ours.id, theirs.id])
  expect(seen.get(ours.id)).toMatchObject({ clientId: 'second', seenAt: expect.any(Date) })
  expect(seen.has(theirs.id)).toBe(false)
  expect((await listClientSightings(sql, [])).size).toBe(0)
})
