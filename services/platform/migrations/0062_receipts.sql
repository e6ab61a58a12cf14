-- Receipts: a Merkle tree (RFC 9162) of the whole installation, whose leaves are runs that have
-- ended and entries of the audit, and the heads of it that were signed.

set local lock_timeout = '2s';

-- One row. What had ended before it was made has no leaf.
create table receipt_log (
  is_only boolean primary key default true check (is_only),
  -- heads of two installations are never taken for heads of one
  id uuid not null default gen_random_uuid(),
  size bigint not null default 0 check (size >= 0),
  runs_until timestamptz not null default now(),
  audit_until timestamptz not null default now()
);
insert into receipt_log default values;

-- What was hashed. It refers to no other table: a leaf outlives the run and the organization.
create table receipt_leaves (
  index bigint primary key check (index >= 0),
  organization_id int,
  run_id uuid unique,
  audit_id bigint unique,
  -- canonical JSON (RFC 8785)
  content text not null,
  check ((run_id is null) <> (audit_id is null))
);

-- The salts of the hashes in a leaf. They are deleted with what the leaf is about, after which its
-- hashes say nothing of it.
create table receipt_salts (
  run_id uuid unique references executions on delete cascade,
  audit_id bigint unique,
  salt bytea not null check (octet_length(salt) = 32),
  check ((run_id is null) <> (audit_id is null))
);

-- What has ended and has no leaf, the first to end first. Transactions that end a run are over
-- within the minutes by which it looks back. The plan is held to the indexes: how few rows are that
-- new is known only when it is executed, and it is asked for every ten seconds.
create function runs_without_leaf(most int) returns table (run_id uuid)
  language plpgsql stable rows 100 set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
begin
  return query
    select e.id from executions e
    where e.finished_at > (select runs_until - interval '5 minutes' from receipt_log)
      and not exists (select from receipt_leaves l where l.run_id = e.id)
    order by e.finished_at, e.id limit most;
end $$;

create function entries_without_leaf(most int) returns table (audit_id bigint)
  language plpgsql stable rows 500 set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_bitmapscan = off set jit = off as $$
begin
  return query
    select e.id from audit_entries e
    where e.at > (select audit_until - interval '5 minutes' from receipt_log)
      and not exists (select from receipt_leaves l where l.audit_id = e.id)
    order by e.at, e.id limit most;
end $$;

create function forget_salt_of_audit() returns trigger language plpgsql as $$
begin
  delete from receipt_salts where audit_id = old.id;
  return null;
end $$;

create trigger audit_forgets_salt after delete on audit_entries
  for each row execute function forget_salt_of_audit();

-- The hashes of complete subtrees: of 2^level leaves from position * 2^level on.
create table receipt_nodes (
  level smallint not null check (level between 0 and 52),
  position bigint not null check (position >= 0),
  hash bytea not null check (octet_length(hash) = 32),
  primary key (level, position)
);

create table receipt_keys (
  number int generated always as identity primary key,
  -- SubjectPublicKeyInfo
  public_key bytea not null,
  -- null: a later key has taken its place
  sealed_key bytea,
  -- what says so, signed with the key before; null: that one was lost
  statement text not null,
  signature bytea,
  created_at timestamptz not null default now()
);

create table receipt_heads (
  size bigint primary key check (size > 0),
  content text not null,
  signature bytea not null,
  signed_at timestamptz not null
);
