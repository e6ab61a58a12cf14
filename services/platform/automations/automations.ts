import type { Queryable } from '../../shared/postgres/database.ts'
import type { CrewDefinition } from '../definitions/crew-definition.ts'
import { contains, keyset, toPage } from '../../shared/postgres/paging.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'

/** All statuses of an automation, as the API shows them. */
export const AUTOMATION_STATUSES = [
  'Crew is Provisioning',
  'Crew is Online',
  'Crew is Offline',
  'Crew has Failed',
] as const
/** The status of an automation. */
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number]

/**
 * An automation: a project version that callers start as runs, by its `automationId` (a UUID). Its
 * row is in `deployments`.
 */
export interface Automation {
  readonly id: number
  readonly automationId: string
  readonly organizationId: number
  readonly projectVersionId: number
  readonly name: string
  readonly slug: string
  readonly appId: string
  readonly status: AutomationStatus
  readonly statusReason: string | null
  readonly url: string | null
  readonly oauthClientId: string | null
  /** The most runs at a time, over all workers; null: as many as the workers take. */
  readonly concurrencyMax: number | null
  /** The project whose drafts it tests; null: callers start it. */
  readonly testsProjectId: number | null
}

interface NewAutomation {
  readonly organizationId: number
  readonly projectVersionId: number
  readonly name: string
  readonly slug: string
  readonly appId: string
}

/** The columns of an automation, also beside those of another table. */
export const automationColumns = (sql: Queryable) => sql`
  deployments.id, deployments.automation_id, deployments.organization_id,
  deployments.project_version_id, deployments.name, deployments.slug, deployments.app_id,
  deployments.status, deployments.status_reason, deployments.url, deployments.oauth_client_id,
  deployments.concurrency_max, deployments.tests_project_id`

/**
 * Creates an automation, or moves the one of that slug to the given version and name. Its
 * automation id never changes.
 */
export async function ensureAutomation(
  sql: Queryable,
  automation: NewAutomation,
): Promise<Automation> {
  const { projectVersionId, name, slug } = automation
  // A conflict uses an id up: what is there is moved without one.
  const [moved] = await sql<Automation[]>`
    update deployments
    set project_version_id = ${projectVersionId}, name = ${name}, updated_at = now()
    where slug = ${slug} returning ${automationColumns(sql)}`
  if (moved) return moved
  const [made] = await sql<[Automation]>`
    insert into deployments ${sql({ ...automation })}
    on conflict (slug) do update set
      project_version_id = excluded.project_version_id, name = excluded.name, updated_at = now()
    returning ${automationColumns(sql)}`
  return made
}

/** Records that an automation's crew is reachable at `url`; one that was stopped stays so. */
export async function markOnline(sql: Queryable, id: number, url: string): Promise<void> {
  await sql`
    update deployments
    set url = ${url}, updated_at = now(),
      status = case when halted_at is null then 'Crew is Online' else status end,
      status_reason = case when halted_at is not null then status_reason end
    where id = ${id}`
}

/** Records that an automation's crew cannot be reached, and why. */
export async function markDown(
  sql: Queryable,
  id: number,
  { status, reason }: { status: Exclude<AutomationStatus, 'Crew is Online'>; reason: string },
): Promise<void> {
  await sql`
    update deployments set status = ${status}, status_reason = ${reason}, updated_at = now()
    where id = ${id}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Recognizes a UUID, as automation ids and kickoff ids are. */
export const isUuid = (text: string): boolean => UUID.test(text)

/** Returns the automation with that public id, if it exists and is none that tests drafts. */
export async function findAutomation(
  sql: Queryable,
  automationId: string,
): Promise<Automation | undefined> {
  const found = await findAnyAutomation(sql, automationId)
  return found?.testsProjectId === null ? found : undefined
}

/** Returns the automation with that public id, also one that tests drafts, if it exists. */
export async function findAnyAutomation(
  sql: Queryable,
  automationId: string,
): Promise<Automation | undefined> {
  if (!isUuid(automationId)) return undefined
  const [found] = await sql<Automation[]>`
    select ${automationColumns(sql)} from deployments where automation_id = ${automationId}`
  return found
}

/**
 * Binds an automation of the organization to the one OAuth client that may call it; null unbinds
 * it. Returns false when there is no such automation.
 */
export async function bindOauthClient(
  sql: Queryable,
  { automationId, organizationId }: { automationId: string; organizationId: number },
  clientId: string | null,
): Promise<boolean> {
  if (!isUuid(automationId)) return false
  const bound = await sql`
    update deployments set oauth_client_id = ${clientId}, updated_at = now()
    where automation_id = ${automationId} and organization_id = ${organizationId} returning id`
  return bound.length > 0
}

/**
 * Limits how many runs of an automation of the organization go on at a time; null lifts the limit.
 * Returns false when there is no such automation.
 */
export async function limitConcurrency(
  sql: Queryable,
  { id, organizationId }: { id: number; organizationId: number },
  concurrencyMax: number | null,
): Promise<boolean> {
  const limited = await sql`
    update deployments set concurrency_max = ${concurrencyMax}, updated_at = now()
    where id = ${id} and organization_id = ${organizationId} returning id`
  return limited.length > 0
}

/** Returns the definition that an automation runs. */
export async function getDefinition(
  sql: Queryable,
  { projectVersionId }: Pick<Automation, 'projectVersionId'>,
): Promise<CrewDefinition> {
  const [found] = await sql<[{ definition: CrewDefinition }]>`
    select definition from project_versions where id = ${projectVersionId}`
  return found.definition
}

/** Returns the automations of an organization by name; the search looks into names and slugs. */
export async function listAutomations(
  sql: Queryable,
  organizationId: number,
  page: PageRequest,
): Promise<Page<Automation>> {
  const [rows, total] = await Promise.all([
    sql<Automation[]>`
      select ${automationColumns(sql)}
      from (${pageOfAutomations(sql, organizationId, page)}) deployments order by place`,
    countAutomations(sql, organizationId, page.search),
  ])
  return toPage(rows, page, { total, cursorOf: ({ automationId }) => automationId })
}

/** The rows of a page of automations; `place` keeps their order for those who join them. */
export function pageOfAutomations(sql: Queryable, organizationId: number, page: PageRequest) {
  const byName = {
    columns: [sql`d.name`, sql`d.id`],
    at: (cursor: string) => sql`(
      select name, id from deployments
      where automation_id = ${cursor} and organization_id = ${organizationId})`,
  }
  return sql`
    select *, row_number() over () as place from (
      select d.* from deployments d
      where ${isListed(sql, organizationId, page.search)} ${keyset(sql, byName, page)}) listed`
}

/** Counts the automations of an organization, or those that a search finds. */
export async function countAutomations(
  sql: Queryable,
  organizationId: number,
  search?: string,
): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from deployments d where ${isListed(sql, organizationId, search)}`
  return row.count
}

/** Counts the automations of an organization that are online. */
export async function countOnline(sql: Queryable, organizationId: number): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from deployments
    where organization_id = ${organizationId} and status = 'Crew is Online'
      and tests_project_id is null`
  return row.count
}

const isListed = (sql: Queryable, organizationId: number, search?: string) => sql`
  d.organization_id = ${organizationId} and d.tests_project_id is null
    and (${contains(sql, [sql`d.name`, sql`d.slug`], search)})`

/** The names of an organization's automations, for a choice of one; at most 500, by name. */
export async function listAutomationNames(
  sql: Queryable,
  organizationId: number,
): Promise<Pick<Automation, 'automationId' | 'name' | 'slug'>[]> {
  return sql<Pick<Automation, 'automationId' | 'name' | 'slug'>[]>`
    select automation_id, name, slug from deployments
    where organization_id = ${organizationId} and tests_project_id is null
    order by name, id limit 500`
}
