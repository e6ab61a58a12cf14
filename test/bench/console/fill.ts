import type { Database } from '../../../services/shared/postgres/database.ts'
import type { Tenant } from '../../services/web/support/platform.ts'

const AUTOMATIONS = 500
const RUNS = 100_000
/** Each statement stays below the time that one may take. */
const RUNS_AT_A_TIME = 5000
const MEMBERS = 200
const AUDIT = 20_000

/**
 * Makes an organization a large one: 500 automations with a project each, 100,000 runs of them in
 * 60 days, each with an output of one kilobyte, 200 members, and an audit of 20,000 entries.
 */
export async function fillConsole(sql: Database, tenant: Tenant): Promise<void> {
  await addAutomations(sql, tenant)
  await addRuns(sql, tenant)
  await addPeople(sql, tenant)
  await sql`vacuum analyze`
}

async function addAutomations(sql: Database, { organizationId, research }: Tenant): Promise<void> {
  await sql`
    with made as (
      insert into projects (organization_id, name, last_version)
      select ${organizationId}, 'Automation ' || i, 1 from generate_series(1, ${AUTOMATIONS}) i
      returning id, name),
    versions as (
      insert into project_versions (project_id, organization_id, number, definition, published_at)
      select made.id, ${organizationId}, 1, v.definition, now()
      from made, project_versions v where v.id = ${research.projectVersionId}
      returning id, project_id)
    select count(*) from versions`
  await sql`
    insert into deployments (organization_id, project_version_id, name, slug, app_id, status, url)
    select ${organizationId}, v.id, p.name, 'filled-' || p.id, 'crew-filled-' || p.id,
      'Crew is Online', 'http://127.0.0.1:9'
    from projects p join project_versions v on v.project_id = p.id
    where p.name like 'Automation %' and p.organization_id = ${organizationId}`
}

async function addRuns(sql: Database, tenant: Tenant): Promise<void> {
  for (let first = 1; first <= RUNS; first += RUNS_AT_A_TIME) {
    await addSomeRuns(sql, tenant, { first, last: first + RUNS_AT_A_TIME - 1 })
  }
}

async function addSomeRuns(
  sql: Database,
  { organizationId }: Tenant,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<void> {
  await sql`
    insert into executions (deployment_id, inputs, status, attempt, queued_at, available_at,
      started_at, finished_at, output, usage, error, trigger, starter_id, starter_name)
    select d.id, jsonb_build_object('topic', 'Heat pumps ' || i),
      case when i % 20 = 0 then 'error' else 'completed' end, 1, at, at, at,
      at + interval '40 seconds', case when i % 20 > 0 then repeat(md5(i::text), 32) end,
      '{"inputTokens": 1200, "outputTokens": 800}',
      case when i % 20 = 0 then '{"code": "llm_timeout", "message": "No answer."}'::jsonb end,
      (array['api', 'console', 'schedule'])[1 + i % 3], 'person:' || i % 50, 'Person ' || i % 50
    from generate_series(${first}::int, ${last}::int) i
      cross join lateral (select now() - interval '60 days' * (i::float8 / ${RUNS}) as at) times
      join (
        select id, row_number() over (order by id) as place, count(*) over () as total
        from deployments where organization_id = ${organizationId} and slug like 'filled-%'
      ) d on d.place = 1 + i % d.total`
}

async function addPeople(sql: Database, { organizationId }: Tenant): Promise<void> {
  await sql`
    with made as (
      insert into users (organization_id, email, name)
      select ${organizationId}, 'member' || i || '@acme.test', 'Member ' || i
      from generate_series(1, ${MEMBERS}) i returning id)
    insert into memberships select id, ${organizationId}, 'editor' from made`
  await sql`
    insert into audit_entries (organization_id, action, actor_kind, actor_name, target_kind,
      target_id, at)
    select ${organizationId}, 'project_renamed', 'person', 'Member ' || i % 200, 'project',
      i::text, now() - interval '1 minute' * i
    from generate_series(1, ${AUDIT}) i`
}
