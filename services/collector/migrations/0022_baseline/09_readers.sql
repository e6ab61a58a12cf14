-- Row-level security for readers of one organization. It applies to the role `collector_reader`,
-- which the collector takes within the transaction of such a reader; others see what they were
-- granted. Not on Citus: it takes no subquery in a policy, and neither the role nor the setting of
-- a transaction reaches its other nodes. There views and conditions alone limit readers.

-- Makes the role that readers take, where this is allowed; without it, conditions alone limit them.
-- A role is the whole server's: another database may have made it, or be making it.
do $$
begin
  if to_regrole('collector_reader') is null then
    create role collector_reader nologin;
  end if;
  if not pg_has_role(current_user, 'collector_reader', 'usage') then
    execute format('grant collector_reader to %I', current_user);
  end if;
exception
  when insufficient_privilege or duplicate_object or unique_violation then
    raise notice 'collector_reader: %', sqlerrm;
end
$$;

-- The role, if it is there and the caller may take it.
create function reader_role() returns text language sql stable as $$
  select rolname::text from pg_roles
  where not is_distributed() and rolname = 'collector_reader' and pg_has_role(
    current_user, oid,
    case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
$$;

-- Lets a reader see the rows of its organization in a table that has the column `organization`. A
-- migration that creates such a table ends with `select protect_by_organization('…');`. Safe to
-- repeat. Nothing is done without the role: after it was made, see the collector's README.
create function protect_by_organization(protected regclass) returns void
language plpgsql as $$
begin
  if is_distributed() or to_regrole('collector_reader') is null then
    return;
  end if;
  execute format('alter table %s enable row level security', protected);
  execute format('drop policy if exists organization_readers on %s', protected);
  -- The condition is a subquery, so that it is evaluated once rather than for each row.
  execute format(
    'create policy organization_readers on %s to collector_reader
     using (organization = (select reading_organization()))',
    protected
  );
  -- Row-level security denies whatever no policy allows: the roles that were granted more keep it.
  execute format('drop policy if exists other_readers on %s', protected);
  execute format(
    'create policy other_readers on %s
     using ((select not pg_has_role(current_user, ''collector_reader'', ''usage'')))',
    protected
  );
  execute format('grant select on %s to collector_reader', protected);
end
$$;

-- Takes back what `protect_by_organization` has done, before a table is distributed.
create function unprotect_table(protected regclass) returns void language plpgsql as $$
begin
  execute format('drop policy if exists organization_readers on %s', protected);
  execute format('drop policy if exists other_readers on %s', protected);
  execute format('alter table %s disable row level security', protected);
end
$$;

-- Protects every table that has an organization, and grants the views on them.
create function protect_readers() returns void language plpgsql as $$
declare
  protected regclass;
begin
  if to_regrole('collector_reader') is null then
    return;
  end if;
  for protected in
    select c.oid::regclass
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = (select relnamespace from pg_class where oid = 'spans'::regclass)
      and c.relkind in ('r', 'p') and not c.relispartition
      and a.attname = 'organization' and not a.attisdropped
  loop
    perform protect_by_organization(protected);
  end loop;
  execute format(
    'grant usage on schema %s to collector_reader',
    (select relnamespace::regnamespace from pg_class where oid = 'spans'::regclass)
  );
  grant select on live_spans, llm_calls, live_traces, live_usage, listed_traces, listed_usage,
    searched_texts, text_search, retention, summed_days, listed_traces_daily to collector_reader;
end
$$;

select protect_readers();

-- Limits the transaction to what a reader of this organization may see; true when row-level
-- security limits it, too. On Citus the setting has to reach the other nodes, where conditions of
-- the views may be evaluated: it goes there with `set local` alone, and with statements that begin
-- a transaction there.
create function limit_reader(reading text) returns bool language plpgsql as $$
begin
  if is_distributed() then
    perform set_config('citus.propagate_set_commands', 'local', true),
      set_config('citus.select_opens_transaction_block', 'on', true);
    execute format('set local collector.organization = %L', reading);
    -- It would send the whole message with a later setting, whatever else is in it.
    perform set_config('citus.propagate_set_commands', 'none', true);
    return false;
  end if;
  perform set_config('collector.organization', reading, true),
    set_config('role', coalesce(reader_role(), current_setting('role')), true);
  return reader_role() is not null;
end
$$;
