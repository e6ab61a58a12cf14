-- A published version that takes a share of the calls of its project's automations, beside the
-- version that they run.
create table releases (
  project_id int primary key,
  organization_id int not null,
  version_id int not null,
  -- of 100 calls
  share int not null check (share between 1 and 99),
  -- the input by whose value it is chosen, so that equal values get the same version; null: the
  -- Idempotency-Key of the call or, without one, chance
  sticky_input text check (length(sticky_input) between 1 and 200),
  started_at timestamptz not null default now(),
  foreign key (project_id, organization_id) references projects (id, organization_id)
    on delete cascade,
  foreign key (version_id, organization_id) references project_versions (id, organization_id)
    on delete cascade
);

create index releases_version on releases (version_id);

-- Returns the version that a new run gets by the share of a release; null: the one that its
-- automation runs. A value that is chosen once stays chosen while the share grows.
create function released_version(of int, idempotency_key text, inputs jsonb) returns int
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
  release releases;
begin
  select r.* into release from deployments d
    join project_versions v on v.id = d.project_version_id
    join releases r on r.project_id = v.project_id
    where d.id = of and d.tests_project_id is null;
  return case when mod(
    hashtextextended(
      coalesce(inputs ->> release.sticky_input, idempotency_key, gen_random_uuid()::text),
      release.version_id) & 9223372036854775807, 100) < release.share
    then release.version_id end;
end $$;
