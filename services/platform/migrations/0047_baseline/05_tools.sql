-- Packages that crews install: those of organizations, and what was fetched of a public index.

create table tool_repositories (
  id int generated always as identity primary key,
  -- null: the public repository, which every crew may use
  organization_id int references organizations on delete cascade,
  name text not null unique check (name ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'),
  created_at timestamptz not null default now()
);

create unique index tool_repositories_one_public on tool_repositories ((organization_id is null))
  where organization_id is null;
create unique index tool_repositories_one_each on tool_repositories (organization_id)
  where organization_id is not null;

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
  created_at timestamptz not null default now(),
  size int not null check (size between 1 and 67108864),
  uploaded_by int references static_tokens on delete set null,
  unique (repository_id, filename)
);

create index tools_name on tools (repository_id, name);

-- In parts, so that neither an upload nor a download holds all of a file in memory.
create table tool_parts (
  tool_id int not null references tools on delete cascade deferrable initially deferred,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (tool_id, position)
);
-- Wheels and archives are compressed already.
alter table tool_parts alter column content set storage external;

-- Packages of the public index that the operator names: pages and files that were fetched once. All
-- of it can be fetched again, so it is neither logged nor copied by a backup.
create unlogged table upstream_pages (
  name text primary key,
  -- The files as the tools index shows them; null: the public index has no such name.
  files jsonb,
  etag text,
  size int not null check (size >= 0),
  fetched_at timestamptz not null default now()
);

create unlogged table upstream_files (
  id int generated always as identity primary key,
  sha256 bytea not null check (octet_length(sha256) = 32),
  -- null while it is being fetched.
  size bigint check (size > 0),
  used_at timestamptz not null default now()
);

create unique index upstream_files_once on upstream_files (sha256) where size is not null;

create unlogged table upstream_file_parts (
  file_id int not null references upstream_files on delete cascade,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (file_id, position)
);
alter table upstream_file_parts alter column content set storage external;
