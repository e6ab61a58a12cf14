-- What belongs to traces here. The traces themselves are in the database of the collector, and
-- expire there.

-- Tokens of the trace collector that people issued in the console. The token itself is not
-- stored: it is shown once, and the collector recognizes it by its signature and its id.
create table trace_tokens (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- the claim `jti`, by which the collector revokes it
  token_id uuid not null unique,
  name text not null check (length(name) between 1 and 100),
  scope text not null check (scope in ('traces:write', 'traces:read')),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at),
  revoked_at timestamptz,
  revoked_by int references users on delete set null,
  check (revoked_at is not null or revoked_by is null)
);

create index trace_tokens_organization on trace_tokens (organization_id, created_at);

-- Filters of the list of traces that a person keeps under a name, for one organization.
create table trace_filters (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  user_id int not null references users on delete cascade,
  name text not null check (length(name) between 1 and 80),
  -- the query of the address, as the list writes it
  query text not null check (octet_length(query) <= 8192),
  created_at timestamptz not null default now(),
  unique (user_id, organization_id, name)
);

-- What people say of traces.
create table trace_notes (
  id bigint generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  trace_id uuid not null,
  -- null: the author is deleted
  author_id int references users on delete set null,
  -- 1: good, -1: bad; null: a note alone
  rating smallint check (rating in (1, -1)),
  note text not null check (length(note) <= 4000),
  created_at timestamptz not null default now(),
  check (rating is not null or note <> '')
);

create index trace_notes_of_trace on trace_notes (organization_id, trace_id, id);
create index trace_notes_latest on trace_notes (organization_id, id);
