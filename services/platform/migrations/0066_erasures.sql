-- Orders to erase a person, and holds, which keep data from that, from retention and from deletion.

set local lock_timeout = '2s';

create table erasures (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  -- in the words of those who order it, such as the number of a request; never the person's
  name text not null check (length(name) between 1 and 100),
  kind text not null check (kind in ('text', 'user', 'attribute')),
  -- what is looked for, sealed with SECRET_KEY_BASE: in no row as it is
  sealed bytea not null,
  state text not null default 'finding'
    check (state in ('finding', 'planned', 'erasing', 'erased')),
  -- where the search is: the kind of things, and the last one that was read
  place int not null default 0,
  after text,
  -- 0: the first search; after what it found is erased, the next one looks for what came meanwhile
  pass int not null default 0,
  -- why it does not get on
  problem text check (length(problem) <= 1000),
  looked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 300),
  confirmed_at timestamptz,
  confirmed_by text check (length(confirmed_by) between 1 and 300),
  erased_at timestamptz,
  check (state in ('finding', 'planned') or confirmed_at is not null),
  check ((state = 'erased') = (erased_at is not null))
);

create index erasures_of_organization on erasures (organization_id, created_at desc);
create index erasures_due on erasures (looked_at) where state in ('finding', 'erasing');

-- What was found, by its id: the ledger by which a restored backup is erased anew.
create table erasure_items (
  erasure_id uuid not null references erasures on delete cascade,
  kind text not null check (kind ~ '^[a-z_]{1,30}$'),
  item text not null,
  -- when it was erased, or left alone
  ended_at timestamptz,
  -- a hold kept it
  is_held boolean not null default false,
  primary key (erasure_id, kind, item)
);

create index erasure_items_left on erasure_items (erasure_id, kind) where ended_at is null;

create table legal_holds (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  name text not null check (length(name) between 1 and 100),
  kind text not null check (kind in ('automation', 'run', 'trace', 'user', 'text')),
  -- the id of an automation, a run, a trace or a user, or a text
  value text not null check (length(value) between 1 and 500),
  -- of a text: in each way in which it may be stored, as `like` has it
  patterns text[] not null default '{}',
  -- how far its traces were handed to the collector, and since when all of them are
  place int not null default 0,
  after text,
  applied_at timestamptz,
  problem text check (length(problem) <= 1000),
  looked_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  created_by text not null check (length(created_by) between 1 and 300),
  check ((kind = 'text') = (patterns <> '{}'))
);

create index legal_holds_of_organization on legal_holds (organization_id, created_at desc);

-- True for a run that has a text anywhere. One plan for all runs, as of other functions of days.
create function run_mentions(run executions, patterns text[]) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return lower(concat_ws(E'\n', run.inputs, run.output, run.error, run.starter_id,
      run.starter_name)) like any (patterns)
    or exists (select from execution_events
      where execution_id = run.id and lower(event::text) like any (patterns))
    or exists (select from run_steps where run_id = run.id
      and lower(concat_ws(E'\n', name, path, input, result, error)) like any (patterns))
    or exists (select from run_payloads
      where run_id = run.id and lower(content::text) like any (patterns))
    or exists (select from run_artifacts where run_id = run.id
      and lower(concat_ws(E'\n', name, content)) like any (patterns))
    or exists (select from run_approvals where run_id = run.id
      and lower(concat_ws(E'\n', task, proposed, answer, call)) like any (patterns))
    or exists (select from kickoff_keys
      where execution_id = run.id and lower(key) like any (patterns));
end $$;

create function run_is_held(run executions) returns boolean
language plpgsql stable set plan_cache_mode = force_generic_plan as $$
begin
  return exists (
    select from legal_holds h where h.organization_id = run.organization_id and case h.kind
      when 'automation' then h.value = (
        select automation_id::text from deployments where id = run.deployment_id)
      when 'user' then run.starter_id in (h.value, 'person:' || h.value)
      when 'text' then run_mentions(run, h.patterns)
      else h.value = run.id::text end);
end $$;

-- True for the id of a run, or of a trace without one, that a hold of this organization keeps.
create function is_held(of_organization int, of uuid) returns boolean language sql stable as $$
  select exists (select from legal_holds where organization_id = of_organization) and (
    exists (select from legal_holds where organization_id = of_organization
      and kind in ('run', 'trace') and value = of::text)
    or exists (select from executions e
      where e.id = of and e.organization_id = of_organization and run_is_held(e)))
$$;

-- Whatever deletes a run, programs of the release before among them, leaves one that is held.
create function refuse_deletion_of_held_run() returns trigger language plpgsql as $$
begin
  if exists (select from legal_holds where organization_id = old.organization_id)
    and run_is_held(old) then
    raise exception 'run % is under a legal hold', old.id using errcode = 'restrict_violation';
  end if;
  return old;
end $$;

create trigger executions_held before delete on executions
  for each row execute function refuse_deletion_of_held_run();
