-- Addresses that the spans of an organization are forwarded to.

set local lock_timeout = '2s';

create table trace_forwards (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- /v1/traces is added to it
  endpoint text not null check (length(endpoint) between 1 and 2000),
  -- headers of each request; null: none
  sealed_headers bytea,
  -- of 100 traces so many, by their ids
  share int not null check (share between 1 and 100),
  -- where the address is, as people say; null: they say nothing
  region text check (region ~ '^[a-z0-9-]{1,40}$'),
  -- the place in the committed spans of the organization up to which all was accepted, as the
  -- collector writes it; null: it has not begun
  cursor text check (length(cursor) <= 200),
  began_at timestamptz,
  -- the spans of one request
  spans_max int not null default 1000 check (spans_max between 1 and 1000),
  forwarded bigint not null default 0,
  -- of those that were forwarded, the ones that the receiver did not take
  rejected bigint not null default 0,
  -- the commit of the oldest span that is to be forwarded; null: none, as of the last look
  waiting_since timestamptz,
  tries int not null default 0 check (tries >= 0),
  failing_since timestamptz,
  -- why the last try failed, or what the receiver said of what it did not take
  problem text check (length(problem) <= 1000),
  paused_at timestamptz,
  -- why the platform paused it; null: a person did
  pause_reason text check (length(pause_reason) <= 1000),
  -- when to look next; while a worker does, when another one may
  due_at timestamptz not null default now(),
  lease_id uuid,
  created_at timestamptz not null default now(),
  unique (organization_id, name)
) with (fillfactor = 50);

create index trace_forwards_due on trace_forwards (due_at) where paused_at is null;

-- The organizations of which the collector was told that their spans are forwarded.
create table trace_forwarding (
  only_row bool primary key default true check (only_row),
  organizations int[] not null default '{}',
  told_at timestamptz not null default now()
);

insert into trace_forwarding default values;
