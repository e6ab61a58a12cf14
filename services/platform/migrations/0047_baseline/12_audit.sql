-- Who changed what, and who was refused: written in the transaction of the change, and never
-- changed after. It refers to no other table: an entry outlives the people and the things it names.

create table audit_entries (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  -- null: it concerns the platform as a whole
  organization_id int,
  actor_kind text not null check (
    actor_kind in ('person', 'token', 'client', 'operator', 'platform')),
  -- the id of the user or token, or of the client at its identity provider
  actor_id text check (length(actor_id) between 1 and 255),
  -- as it was then
  actor_name text not null check (length(actor_name) between 1 and 300),
  action text not null check (action ~ '^[a-z][a-z0-9_]{0,63}$'),
  refused boolean not null default false,
  target_kind text not null check (target_kind ~ '^[a-z][a-z0-9_]{0,63}$'),
  target_id text check (length(target_id) between 1 and 300),
  target_name text check (length(target_name) <= 300),
  -- the fields that differ; never a secret
  before jsonb check (jsonb_typeof(before) = 'object'),
  after jsonb check (jsonb_typeof(after) = 'object'),
  address text check (length(address) <= 64),
  request_id text check (length(request_id) <= 128),
  -- when it was written to standard output as well
  forwarded_at timestamptz
);

create index audit_of_organization on audit_entries (organization_id, id desc);
create index audit_age on audit_entries (at);
create index audit_to_forward on audit_entries (id) where forwarded_at is null;

create function refuse_change_of_audit() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and to_jsonb(new) - 'forwarded_at' = to_jsonb(old) - 'forwarded_at' then
    return new;
  end if;
  if tg_op = 'DELETE' and current_setting('platform.audit_retention', true) = 'on' then
    return old;
  end if;
  raise exception 'entries of the audit are never changed, and deleted by the retention only'
    using errcode = 'check_violation';
end $$;

create trigger audit_is_append_only before update or delete on audit_entries
  for each row execute function refuse_change_of_audit();
create trigger audit_is_not_truncated before truncate on audit_entries
  for each statement execute function refuse_change_of_audit();
