-- What callers start, and what lets them call it.

create table deployments (
  id int generated always as identity primary key,
  automation_id uuid not null unique default gen_random_uuid(),
  organization_id int not null references organizations,
  project_version_id int not null,
  name text not null check (length(name) between 1 and 200),
  slug text not null unique check (slug ~ '^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$'),
  -- names the Kubernetes objects of the crew
  app_id text not null unique check (app_id ~ '^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$'),
  status text not null default 'Crew is Provisioning' check (status in
    ('Crew is Provisioning', 'Crew is Online', 'Crew is Offline', 'Crew has Failed')),
  status_reason text,
  -- where the workers reach the crew
  url text check (url ~ '^https?://'),
  -- the one client whose OAuth tokens may call this automation; null: none may
  oauth_client_id text check (oauth_client_id <> ''),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- An automation without a crew of its own runs on this one's, which is one of the platform's own
  -- organization.
  runs_on int references deployments check (runs_on <> id),
  -- how many of its runs are in progress at a time, over all workers; null: as many as they take
  concurrency_max int check (concurrency_max between 1 and 1000),
  -- the project whose drafts it tests: callers do not reach it then, and it has neither webhooks
  -- nor schedules
  tests_project_id int,
  -- Of an automation that is designed; one from source has the same in crew_settings. Runs of one
  -- that is halted wait; workers delete one with its runs.
  halted_at timestamptz,
  deleting_since timestamptz,
  foreign key (project_version_id, organization_id)
    references project_versions (id, organization_id),
  foreign key (tests_project_id, organization_id) references projects (id, organization_id),
  unique (id, organization_id),
  constraint deployments_one_for_tests unique (tests_project_id),
  constraint deployments_online_is_reachable
    check (status <> 'Crew is Online' or url is not null or runs_on is not null)
);

create index deployments_organization on deployments (organization_id, name);
create index deployments_version on deployments (project_version_id);
create index on deployments (id) where deleting_since is not null;

create function check_deployment() returns trigger language plpgsql as $$
begin
  if not exists (
    select from project_versions where id = new.project_version_id
      and case when new.tests_project_id is null then published_at is not null
        else project_id = new.tests_project_id and copy_of is not null end) then
    raise exception 'project version % is not published: only published versions are deployed',
      new.project_version_id using errcode = 'check_violation';
  end if;
  if new.runs_on is not null and not exists (
    select from deployments d join organizations o on o.id = d.organization_id
    where d.id = new.runs_on and d.runs_on is null and o.internal) then
    raise exception
      'deployment % can not run others: it is not a crew of the internal organization',
      new.runs_on using errcode = 'check_violation';
  end if;
  return new;
end $$;

create trigger deployments_checked before insert or update of project_version_id, runs_on
  on deployments for each row execute function check_deployment();

-- A token is shown once; the database holds its SHA-256.
create table static_tokens (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- null: every automation of the organization
  deployment_id int,
  name text not null check (length(name) between 1 and 100),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  last_four text not null check (length(last_four) = 4),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  scopes text[] not null default '{kickoff,read,design,upload}'
    check (cardinality(scopes) between 1 and 5
      and scopes <@ '{kickoff,read,design,upload,settings}'::text[]),
  -- null: never
  expires_at timestamptz,
  -- none: from anywhere
  networks cidr[] not null default '{}' check (cardinality(networks) <= 50),
  last_used_address text check (length(last_used_address) <= 64),
  -- the one whose place it takes
  replaces int references static_tokens on delete set null,
  foreign key (deployment_id, organization_id)
    references deployments (id, organization_id) on delete cascade
);

create index static_tokens_deployment on static_tokens (organization_id, deployment_id);
create index static_tokens_expiry on static_tokens (organization_id, expires_at)
  where revoked_at is null and expires_at is not null;

-- OAuth 2.0 for Automations: which access tokens an organization's automations accept.
create table automation_oauth (
  organization_id int primary key references organizations on delete cascade,
  enabled boolean not null,
  issuer text not null check (issuer ~ '^https?://' and length(issuer) <= 2000),
  -- null: the well-known places of the issuer
  discovery_url text check (discovery_url ~ '^https?://' and length(discovery_url) <= 2000),
  -- null: as discovery says
  jwks_url text check (jwks_url ~ '^https?://' and length(jwks_url) <= 2000),
  -- where callers get tokens; for the examples that are shown to them
  token_url text check (token_url ~ '^https?://' and length(token_url) <= 2000),
  -- never empty: a token for another audience is never a token for this platform
  audiences text[] not null check (
    cardinality(audiences) between 1 and 20 and '' <> all (audiences)
    and array_position(audiences, null) is null),
  absent_audience_allowed boolean not null,
  -- one scope token of RFC 6749 §3.3
  scope text not null check (scope ~ '^[!#-\[\]-~]{1,200}$'),
  scope_claim text not null check (scope_claim in ('scope', 'roles')),
  algorithms text[] not null check (cardinality(algorithms) > 0 and algorithms <@ array[
    'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']),
  skew_seconds int not null check (skew_seconds between 0 and 120),
  lifetime_seconds_max int not null check (lifetime_seconds_max between 60 and 2592000),
  static_tokens_allowed boolean not null,
  updated_at timestamptz not null default now()
);

-- The client of the last well-signed token that was sent to an automation, accepted or not.
create table client_sightings (
  deployment_id int primary key references deployments on delete cascade,
  client_id text not null check (length(client_id) between 1 and 255),
  seen_at timestamptz not null default now()
);

-- The calls of this minute, which the web services share with each other about once a second. A
-- crash of the database may lose them, and the minute begins anew.
create unlogged table api_calls (
  subject text primary key check (length(subject) between 1 and 100),
  -- since 1970
  minute int not null,
  calls int not null check (calls >= 0)
) with (fillfactor = 50);
