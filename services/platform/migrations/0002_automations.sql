-- What runs: projects, their versions, and the crews deployed from them.

create table projects (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  name text not null check (length(name) between 1 and 200),
  -- the number of the newest version
  last_version int not null default 0,
  created_at timestamptz not null default now(),
  unique (organization_id, name),
  unique (id, organization_id)
);

create table project_versions (
  id int generated always as identity primary key,
  project_id int not null,
  organization_id int not null,
  number int not null check (number > 0),
  definition jsonb not null check (jsonb_typeof(definition) = 'object'),
  published_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (project_id, organization_id) references projects (id, organization_id),
  unique (project_id, number),
  unique (id, organization_id)
);

create function refuse_change_of_published_version() returns trigger language plpgsql as $$
begin
  raise exception 'project version % is published and can not be changed; create a new version', old.id
    using errcode = 'check_violation';
end $$;

create trigger project_versions_immutable before update or delete on project_versions
  for each row when (old.published_at is not null)
  execute function refuse_change_of_published_version();

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
  foreign key (project_version_id, organization_id) references project_versions (id, organization_id),
  unique (id, organization_id),
  check (status <> 'Crew is Online' or url is not null)
);

create index deployments_organization on deployments (organization_id, name);

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
  foreign key (deployment_id, organization_id) references deployments (id, organization_id) on delete cascade
);

create index static_tokens_deployment on static_tokens (organization_id, deployment_id);

create table llm_connections (
  id int generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  name text not null check (length(name) between 1 and 100),
  provider text not null check (provider ~ '^[a-z0-9][a-z0-9_-]*$'),
  model text not null check (model <> ''),
  -- set: the provider is specific to this tenant
  base_url text check (base_url ~ '^https?://'),
  created_at timestamptz not null default now(),
  unique (organization_id, name)
);

create table tool_repositories (
  id int generated always as identity primary key,
  -- null: the public repository, which every crew may use
  organization_id int references organizations on delete cascade,
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'),
  created_at timestamptz not null default now()
);

create unique index tool_repositories_one_public on tool_repositories ((organization_id is null)) where organization_id is null;

create table tools (
  id int generated always as identity primary key,
  repository_id int not null references tool_repositories on delete cascade,
  -- normalized as PEP 503 has it
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'),
  version text not null check (version <> ''),
  filename text not null check (filename !~ '[/\\]' and filename <> ''),
  sha256 bytea not null check (octet_length(sha256) = 32),
  requires_python text,
  yanked_reason text,
  content bytea not null,
  created_at timestamptz not null default now(),
  unique (repository_id, filename)
);

create index tools_name on tools (repository_id, name);
