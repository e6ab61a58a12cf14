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
-- Wheels and archives are compressed already.
alter table upstream_file_parts alter column content set storage external;
