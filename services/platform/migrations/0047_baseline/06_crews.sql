-- Crews that the platform builds from a source, for automations that run a crew of their own.

create table sources (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- SHA-256 of the list of its files, each with its own; times, order and compression do not count
  digest bytea not null check (octet_length(digest) = 32),
  kind text not null check (kind in ('archive', 'git')),
  -- the name of the file that was sent, or the repository's
  name text not null check (length(name) between 1 and 255),
  -- of the archive that is kept: a .tar.gz of plain files and folders with relative paths
  archive_sha256 bytea not null check (octet_length(archive_sha256) = 32),
  size int not null check (size between 1 and 67108864),
  unpacked_size int not null check (unpacked_size between 0 and 268435456),
  file_count int not null check (file_count between 1 and 20000),
  -- what was found in it, such as the kind of project
  facts jsonb not null default '{}' check (jsonb_typeof(facts) = 'object'),
  git_url text,
  git_ref text,
  git_commit text check (git_commit ~ '^[0-9a-f]{40}([0-9a-f]{24})?$'),
  uploaded_by int references users on delete set null,
  -- the last time
  sent_at timestamptz not null default now(),
  -- the files of deployments that ended long ago are deleted; what is known of them is kept
  files_deleted_at timestamptz,
  unique (id, organization_id),
  check ((kind = 'git') = (git_commit is not null))
);

-- The same files again are the same source; of Git, as long as it is the same commit.
create unique index sources_content on sources (organization_id, digest, coalesce(git_commit, ''));

create table source_parts (
  source_id int not null references sources on delete cascade deferrable initially deferred,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (source_id, position)
);
-- The archive is compressed already.
alter table source_parts alter column content set storage external;

alter table project_versions
  add foreign key (source_id, organization_id) references sources (id, organization_id);

-- The wanted state of a crew. An automation that has a row here is made from a source.
create table crew_settings (
  deployment_id int primary key references deployments on delete cascade,
  -- null: as the platform decides
  way text check (way in ('process', 'slim', 'image')),
  python_version text check (python_version ~ '^3\.[0-9]{1,2}$'),
  -- null: as the adapter finds it
  entrypoint text check (length(entrypoint) between 1 and 200),
  replicas int not null default 1 check (replicas between 0 and 20),
  -- quantities of Kubernetes; null: the operator's defaults
  cpu_request text check (length(cpu_request) between 1 and 20),
  cpu_limit text check (length(cpu_limit) between 1 and 20),
  memory_request text check (length(memory_request) between 1 and 20),
  memory_limit text check (length(memory_limit) between 1 and 20),
  -- without runs for so long, it sleeps until the next one; null: never
  idle_minutes int check (idle_minutes between 1 and 10080),
  -- the hosts and networks that it may reach beside those which every crew may
  egress text[] not null default '{}' check (cardinality(egress) <= 50),
  -- a person stopped it
  stopped_at timestamptz,
  -- its processes are to be newer than this
  restarted_at timestamptz,
  -- it is being deleted
  removing_since timestamptz,
  last_number int not null default 0,
  -- counts changes, so that none is overlooked that is made while a worker looks at it
  change int not null default 1,
  -- when a worker looks at it next
  due_at timestamptz not null default now(),
  lease_id uuid,
  lease_until timestamptz,
  check ((lease_id is null) = (lease_until is null))
);

create index crew_settings_due on crew_settings (due_at);

-- The environment of a crew: what it is to be deployed with next.
create table crew_variables (
  deployment_id int not null references crew_settings on delete cascade,
  name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'),
  value text check (octet_length(value) <= 32768),
  -- a secret, which is never shown again
  sealed_value bytea check (octet_length(sealed_value) > 36),
  updated_at timestamptz not null default now(),
  primary key (deployment_id, name),
  check ((value is null) <> (sealed_value is null))
);

-- Where the source of an automation comes from, when it is a Git repository.
create table source_repositories (
  deployment_id int primary key references crew_settings on delete cascade,
  url text not null check (length(url) between 1 and 2000),
  ref text not null check (length(ref) between 1 and 255),
  -- the folder of the project; null: the whole repository
  directory text check (length(directory) between 1 and 500),
  credential_kind text check (credential_kind in ('token', 'deploy_key')),
  sealed_credential bytea check (octet_length(sealed_credential) > 37),
  -- null: no webhook
  sealed_webhook_secret bytea check (octet_length(sealed_webhook_secret) > 37),
  last_commit text,
  pulled_at timestamptz,
  failure text check (length(failure) between 1 and 2000),
  failed_at timestamptz,
  -- when to pull next; null: when a person or a program asks
  pull_due_at timestamptz,
  -- who asked
  pull_asked_by int references users on delete set null,
  lease_id uuid,
  lease_until timestamptz,
  check ((credential_kind is null) = (sealed_credential is null)),
  check ((failure is null) = (failed_at is null)),
  check ((lease_id is null) = (lease_until is null))
);

create index source_repositories_due on source_repositories (pull_due_at)
  where pull_due_at is not null;

-- The history of an automation: a source with settings and variables that became, or did not
-- become, a running crew. The one with the highest number is the wanted one.
create table crew_deployments (
  id int generated always as identity primary key,
  organization_id int not null,
  deployment_id int not null references crew_settings on delete cascade,
  number int not null check (number > 0),
  source_id int not null,
  project_version_id int not null,
  settings jsonb not null check (jsonb_typeof(settings) = 'object'),
  -- the number of the one whose source and settings it took
  rolled_back_from int check (rolled_back_from < number),
  state text not null default 'Waiting' check (state in ('Waiting', 'Building', 'Deploying',
    'Crew is Online', 'Crew is Offline', 'Crew has Failed', 'Replaced')),
  reason text check (length(reason) between 1 and 4000),
  -- by its digest
  image text,
  -- where workers reach it
  url text check (url ~ '^https?://'),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  state_since timestamptz not null default now(),
  online_at timestamptz,
  -- nothing of it runs any more, nor will
  ended_at timestamptz,
  -- it sleeps because it was not used
  asleep_since timestamptz,
  -- [{"digest": "sha256:…", "size": bytes}, …]: deployments share them; null without an image
  image_layers jsonb check (jsonb_typeof(image_layers) = 'array'),
  -- the name of the token that deployed, which stays when the token and its audit are deleted
  token_name text check (length(token_name) <= 300),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade,
  foreign key (source_id, organization_id) references sources (id, organization_id),
  foreign key (project_version_id, organization_id)
    references project_versions (id, organization_id),
  unique (deployment_id, number),
  check (state <> 'Replaced' or ended_at is not null),
  check (state <> 'Crew is Online' or (url is not null and online_at is not null))
);

create index crew_deployments_of_source on crew_deployments (source_id);
create index crew_deployments_of_version on crew_deployments (project_version_id);
create index crew_deployments_open on crew_deployments (deployment_id) where ended_at is null;

-- The environment that a deployment was made with. It is deleted when the deployment ends, so that
-- no former secret is kept.
create table crew_deployment_variables (
  crew_deployment_id int not null references crew_deployments on delete cascade,
  name text not null,
  value text,
  sealed_value bytea,
  primary key (crew_deployment_id, name),
  check ((value is null) <> (sealed_value is null))
);

create table crew_deployment_logs (
  crew_deployment_id int not null references crew_deployments on delete cascade,
  stream text not null check (stream in ('build', 'crew')),
  -- from 0, without gaps: what begins later was cut
  position int not null check (position >= 0),
  at timestamptz not null default now(),
  text text not null check (octet_length(text) between 1 and 65536),
  primary key (crew_deployment_id, stream, position)
);

create function notify_crew_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('crew_deployments', new.deployment_id::text);
  return null;
end $$;

create trigger crew_deployments_changed after insert or update on crew_deployments
  for each row execute function notify_crew_changed();
create trigger crew_settings_changed after insert or update of change on crew_settings
  for each row execute function notify_crew_changed();

create function notify_source_pull() returns trigger language plpgsql as $$
begin
  notify source_pull;
  return null;
end $$;

create trigger source_repositories_asked after insert or update of pull_due_at
  on source_repositories for each row when (new.pull_due_at is not null)
  execute function notify_source_pull();

-- One row: images were deleted since then, and their room in the registry is not free yet.
create table registry_upkeep (
  is_only boolean primary key default true check (is_only),
  garbage_since timestamptz,
  collected_at timestamptz
);
insert into registry_upkeep default values;

-- What workers last found of BuildKit and the registry of crews: one row for their look once a
-- minute, and one for the image that a person had made to try both.
create table build_checks (
  kind text primary key check (kind in ('look', 'canary')),
  checked_at timestamptz not null default now(),
  found jsonb not null check (jsonb_typeof(found) = 'object')
);
