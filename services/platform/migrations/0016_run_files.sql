-- What runs write, and the files that they are given.

-- The files that tasks write: texts, kept with the run.
create table run_artifacts (
  run_id uuid not null references executions on delete cascade,
  name text not null check (name <> '' and octet_length(name) <= 255 and name !~ '[/\\[:cntrl:]]'),
  -- the step that wrote it, as runs that follow this one keep it
  step_key text,
  task text not null,
  content text not null,
  size int not null check (size between 0 and 1048576 and size = octet_length(content)),
  -- characters beyond the size that is kept
  left_out int not null check (left_out >= 0),
  created_at timestamptz not null default now(),
  primary key (run_id, name)
);

-- A task that is done again in a new attempt writes its file again: it is announced once.
create unique index execution_events_artifact_once
  on execution_events (execution_id, (event ->> 'step'), (event ->> 'name'))
  where event ->> 'type' = 'artifact' and event ? 'step';

-- Files that inputs of runs refer to.
create table input_files (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  deployment_id int not null references deployments on delete cascade,
  name text not null check (name <> '' and octet_length(name) <= 255),
  media_type text not null check (media_type <> '' and length(media_type) <= 100),
  size int not null check (size between 1 and 20971520),
  sha256 bytea not null check (octet_length(sha256) = 32),
  created_at timestamptz not null default now()
);

create index input_files_of_organization on input_files (organization_id);
create index input_files_age on input_files (created_at);

-- In parts, so that an upload never holds all of a file in memory.
create table input_file_parts (
  file_id uuid not null references input_files on delete cascade deferrable initially deferred,
  position int not null check (position >= 0),
  content bytea not null check (octet_length(content) between 1 and 1048576),
  primary key (file_id, position)
);

-- A file is kept while a run is that names it.
create table run_files (
  run_id uuid not null references executions on delete cascade,
  file_id uuid not null references input_files,
  primary key (run_id, file_id)
);

create index run_files_of_file on run_files (file_id);
