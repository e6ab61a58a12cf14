-- The queue by lines: what a take has to know of each organization and each automation, kept in the
-- order in which they take turns, so that a take reads those that it takes from and no others.
-- Workers of the release before take beside it: triggers count for them, and one lock keeps them
-- apart from the new takes.

set local lock_timeout = '2s';

-- Appended in the transaction that changes a run, by triggers, and so by programs of every version.
-- Nothing ever waits for a row of it, and nothing is missed that was committed. No index and no
-- foreign keys: it is emptied all the time.
create table queue_changes (
  deployment_id int not null,
  organization_id int not null,
  -- by how many its runs in progress have become more
  running int not null default 0,
  -- when one of its runs started
  started_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- A line for each automation that ever had a run. `settle_queue` alone writes it, as it does the
-- next table.
create table queue_lines (
  deployment_id int primary key,
  organization_id int not null,
  running int not null,
  -- when its last run started
  started_at timestamptz,
  -- since when its first run waits; null: none is due, or none may start
  waiting_since timestamptz,
  -- when its first run becomes due; null: there is none, or it is due already
  due_at timestamptz
) with (fillfactor = 70);

create index queue_lines_turn
  on queue_lines (organization_id, running, started_at nulls first, waiting_since)
  where waiting_since is not null;
create index queue_lines_age on queue_lines (organization_id, waiting_since)
  where waiting_since is not null;
create index queue_lines_due on queue_lines (due_at) where due_at is not null;

create table queue_organizations (
  organization_id int primary key,
  running int not null,
  started_at timestamptz,
  -- since when the first run waits of those of its lines that may start one
  waiting_since timestamptz
) with (fillfactor = 70);

create index queue_organizations_turn
  on queue_organizations (running, started_at nulls first, waiting_since)
  where waiting_since is not null;

create function note_queued_executions() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id, running)
  select deployment_id, organization_id, count(*) filter (where status = 'running')
  from added where status in ('queued', 'running') group by deployment_id, organization_id;
  return null;
end $$;

create function note_changed_execution() returns trigger language plpgsql as $$
begin
  insert into queue_changes values (old.deployment_id, old.organization_id,
    (new.status = 'running')::int - (old.status = 'running')::int,
    case when new.status = 'running' then now() end);
  return null;
end $$;

create function note_deleted_execution() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id, running)
  values (old.deployment_id, old.organization_id, -(old.status = 'running')::int);
  return null;
end $$;

create trigger executions_lined_up after insert on executions referencing new table as added
  for each statement execute function note_queued_executions();
create trigger executions_moved after update of status, available_at on executions
  for each row when (
    (old.status is distinct from new.status
      and (old.status in ('queued', 'running') or new.status in ('queued', 'running')))
    or (new.status = 'queued' and old.available_at is distinct from new.available_at))
  execute function note_changed_execution();
create trigger executions_removed after delete on executions
  for each row when (old.status in ('queued', 'running'))
  execute function note_deleted_execution();

-- What opens and closes a line, beside its runs.

create function note_changed_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id) values (old.id, old.organization_id);
  return null;
end $$;

create function note_crew_deployment() returns trigger language plpgsql as $$
begin
  insert into queue_changes (deployment_id, organization_id)
  values (coalesce(new.deployment_id, old.deployment_id),
    coalesce(new.organization_id, old.organization_id));
  return null;
end $$;

create trigger deployments_opened after update of halted_at, status, concurrency_max on deployments
  for each row when (old.halted_at is distinct from new.halted_at
    or old.status is distinct from new.status
    or old.concurrency_max is distinct from new.concurrency_max)
  execute function note_changed_deployment();
create trigger deployments_removed after delete on deployments
  for each row execute function note_changed_deployment();
create trigger crew_deployments_begun after insert or delete on crew_deployments
  for each row execute function note_crew_deployment();
create trigger crew_deployments_ended after update of ended_at on crew_deployments
  for each row when (old.ended_at is distinct from new.ended_at)
  execute function note_crew_deployment();

-- The runs of an automation that was stopped wait, and so do those of a crew from source that is to
-- come up. A view, because PostgreSQL plans it into the statements that read it; `limit`, because
-- for `not exists` it would read all crews.
create view open_deployments as
  select id, concurrency_max from deployments d
  where halted_at is null
    and (status not in ('Crew is Provisioning', 'Crew is Offline') or (
      select true from crew_deployments c
      where c.deployment_id = d.id and c.ended_at is null limit 1) is null);

-- Brings the lines up to date: puts the runs of lost workers back into the queue, then counts what
-- has changed, and looks again at each line that has a change or a run that became due. Returns
-- true when a run may start. One at a time; its commit need not be flushed, because what is lost
-- with it is only to be done again. Many changes at once are what programs of the release before
-- left, which settle nothing. What it looks up is written so that it can only be looked up,
-- `offset 0` and `any`: a worker may have planned it when the tables were empty.
create function settle_queue(lost_attempts_max int) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
declare
  at timestamptz;
  counted int;
  changed int[];
begin
  for round in 1..10 loop
    exit when not exists (select from queue_changes)
      and not exists (select from queue_lines where due_at <= clock_timestamp())
      and (select lease_expires_at from executions
        where status = 'running' and lease_expires_at < now()
          and lost_attempts + 1 < lost_attempts_max
        order by lease_expires_at limit 1) is null;
    perform set_config('synchronous_commit', 'off', true), pg_advisory_xact_lock(7310452133);
    update executions set status = 'queued', lost_attempts = lost_attempts + 1,
      lease_id = null, lease_expires_at = null
    where id = any (array(
      select id from executions where status = 'running' and lease_expires_at < now()
        and lost_attempts + 1 < lost_attempts_max
      order by lease_expires_at limit 1000 for update skip locked));
    at := clock_timestamp();
    with changes as (
        delete from queue_changes where ctid = any (array(
          select ctid from queue_changes limit 100000))
        returning *),
      due as (
        select deployment_id, organization_id, 0, null::timestamptz from queue_lines
        where due_at <= at order by due_at limit 1000),
      touched as (
        select deployment_id, organization_id, sum(running)::int as running,
          max(started_at) as started_at
        from (select * from changes union all select * from due) each
        group by deployment_id, organization_id),
      counts as (
        insert into queue_organizations as o
        select organization_id, sum(running), max(started_at) from touched group by organization_id
        on conflict (organization_id) do update set running = o.running + excluded.running,
          started_at = greatest(o.started_at, excluded.started_at)),
      gone as (
        delete from queue_lines where deployment_id = any (array(
          select deployment_id from touched t
          where (select true from deployments where id = t.deployment_id limit 1) is null))),
      lines as (
        insert into queue_lines
        select d.id, d.organization_id, now.running, greatest(l.started_at, t.started_at),
          case when first.available_at <= at and o.id is not null
            and (o.concurrency_max is null or now.running < o.concurrency_max)
            then first.available_at end,
          case when first.available_at > at then first.available_at end
        from touched t
          cross join lateral (
            select id, organization_id from deployments where id = t.deployment_id offset 0) d
          left join lateral (
            select id, concurrency_max from open_deployments where id = d.id offset 0) o on true
          left join lateral (
            select running, started_at from queue_lines
            where deployment_id = t.deployment_id offset 0) l on true
          cross join lateral (select coalesce(l.running, 0) + t.running as running) now
          left join lateral (
            -- By the index of lines alone, which `=` would not ask for: by its order.
            select available_at from executions
            where deployment_id between d.id and d.id and status = 'queued'
            order by deployment_id, available_at limit 1) first on true
        on conflict (deployment_id) do update set running = excluded.running,
          started_at = excluded.started_at, waiting_since = excluded.waiting_since,
          due_at = excluded.due_at)
    select (select count(*) from changes), array(select distinct organization_id from touched)
    into counted, changed;
    update queue_organizations o set waiting_since = (
      select waiting_since from queue_lines
      where organization_id = o.organization_id and waiting_since is not null
      order by waiting_since limit 1)
    where organization_id = any (changed);
    exit when counted < 100000;
  end loop;
  return exists (select from queue_organizations where waiting_since is not null);
end $$;

-- Takes up to `wanted` runs, of lines other than those `passed`. Organizations take turns, those
-- with the fewest runs in progress first, then the one whose last start is the longest ago; so do
-- the automations of each. Returns a row for each run, and one without a run for each line that
-- gave none. It reads at most `wanted` organizations, lines and runs, and shares out as if each
-- line had enough: where one has not, it takes fewer, and the next take finds the line as it is
-- then.
--
-- It chooses by what `settle_queue` left, which may change meanwhile; two things hold whatever
-- happens. No run is taken twice: its row is locked, and checked again then. And no automation
-- exceeds its limit: those that take from one with a limit do so one after the other, and count its
-- runs in progress in a statement that begins afterwards.
create function take_runs(wanted int, lease interval, passed int[])
  returns table (deployment_id int, id uuid, lease_id uuid, attempt int, lost_attempts int,
    inputs jsonb, queued_at timestamptz, project_version_id int)
  language plpgsql rows 10
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_sort = off set jit = off
  set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  chosen int[];
  shares int[];
begin
  -- Workers of the release before take it exclusively, and count in a statement of their own.
  perform pg_advisory_xact_lock_shared(7310452118);
  with organizations as (
      select organization_id, running, started_at, waiting_since from queue_organizations o
      where waiting_since is not null and (
        select true from queue_lines
        where organization_id = o.organization_id and waiting_since is not null
          and deployment_id <> all (passed) limit 1)
      order by running, started_at nulls first, waiting_since limit wanted),
    parts as (
      select organization_id, count(*) as share from (
        select organization_id from organizations cross join generate_series(1, wanted) as turn
        order by running + turn, started_at nulls first, waiting_since limit wanted) each
      group by organization_id),
    lots as (
      select deployment_id, count(*)::int as share from parts p cross join lateral (
        select deployment_id from (
            select deployment_id, running, started_at, waiting_since from queue_lines
            where organization_id = p.organization_id and waiting_since is not null
              and deployment_id <> all (passed)
            order by running, started_at nulls first, waiting_since limit p.share) l
          cross join lateral generate_series(1, least(p.share, (
            select greatest(1, concurrency_max - running) from deployments
            where id = deployment_id and concurrency_max is not null))) as turn
        order by running + turn, started_at nulls first, waiting_since limit p.share) each
      group by deployment_id)
  select array_agg(deployment_id), array_agg(share) into chosen, shares from lots;
  -- In the order of the ids, so that two never wait for each other.
  perform pg_advisory_xact_lock(7310453, l.id)
  from (
    select id from deployments where id = any (chosen) and concurrency_max is not null
    order by id offset 0) l;
  return query
  with lots as materialized (
      select d.id, least(c.share, d.concurrency_max - (
        select count(*) from executions
        where d.concurrency_max is not null and deployment_id = d.id
          and status = 'running')) as share
      from unnest(chosen, shares) as c (deployment_id, share) cross join lateral (
        select id, concurrency_max from open_deployments where id = c.deployment_id offset 0) d),
    due as materialized (
      select e.id from lots l cross join lateral (
        select executions.id from executions
        where deployment_id between l.id and l.id and status = 'queued' and available_at <= now()
        order by deployment_id, available_at limit greatest(0, l.share)
        for update skip locked) e),
    taken as (
      update executions e set status = 'running', attempt = e.attempt + 1,
        lease_id = gen_random_uuid(), lease_expires_at = now() + lease,
        started_at = coalesce(e.started_at, now())
      where e.id = any (array(select due.id from due))
      returning e.deployment_id, e.id, e.lease_id, e.attempt, e.lost_attempts, e.inputs,
        e.queued_at, e.project_version_id)
  select c.deployment_id, t.id, t.lease_id, t.attempt, t.lost_attempts, t.inputs, t.queued_at,
    t.project_version_id
  from unnest(chosen) as c (deployment_id) left join taken t on t.deployment_id = c.deployment_id;
end $$;

-- The lines of what waits and of what is in progress. The triggers stand by now, and whoever wrote
-- before is done: the locks that they took waited for it.
insert into queue_changes (deployment_id, organization_id, running)
select deployment_id, organization_id, count(*) filter (where status = 'running')
from executions where status in ('queued', 'running') group by deployment_id, organization_id;
