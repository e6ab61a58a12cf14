-- The time of the primary, written each second while a replica is read from: what of it has arrived
-- there says how far that replica is behind.
create table heartbeat (
  only_row bool primary key default true check (only_row),
  beat_at timestamptz not null
);

-- Whether the spans are spread over the nodes of Citus, where some statements have another form.
create function is_distributed() returns bool language plpgsql stable as $$
declare
  found bool;
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then
    return false;
  end if;
  execute 'select exists (
    select from pg_catalog.pg_dist_partition where logicalrelid = ''spans''::regclass)' into found;
  return found;
end
$$;

-- As in 0010, but not on Citus: it takes no subquery in a policy, and neither the role nor the
-- setting of a transaction reaches its other nodes. There views and conditions alone limit readers.
create or replace function reader_role() returns text language sql stable as $$
  select rolname::text from pg_roles
  where not is_distributed() and rolname = 'collector_reader' and pg_has_role(
    current_user, oid,
    case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
$$;

create or replace function protect_by_organization(protected regclass) returns void
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

-- Bytes of each day with its indexes, on all nodes: of a distributed table the server's own
-- function sees the empty shell.
create function day_sizes() returns table (name text, bytes int8) language plpgsql as $$
begin
  if is_distributed() then
    return query execute '
      select inhrelid::regclass::text, coalesce(sum(size), 0)::int8
      from pg_inherits
      left join pg_dist_shard on logicalrelid = inhrelid
      left join (
        select shard_id, max(size) as size from citus_shard_sizes() group by shard_id
      ) as stored on shard_id = shardid
      where inhparent = ''spans''::regclass
      group by inhrelid';
  else
    return query select inhrelid::regclass::text, pg_total_relation_size(inhrelid)
    from pg_inherits where inhparent = 'spans'::regclass;
  end if;
end
$$;

-- The spans of a trace that have a model call below them: of all its spans the ids, the parents,
-- and whether each is such a call. A function of arrays: Citus takes no recursion over tables.
create function spans_above_calls(ids int8[], parents int8[], calls bool[]) returns int8[]
language sql immutable parallel safe as $$
  -- "union" keeps each span once: that is linear, and spans in a circle come to an end
  with recursive given as materialized (
    select * from unnest(ids, parents, calls) as span (id, parent, is_call)
    where parent is not null
  ),
  above as (
    select parent as id from given where is_call
    union
    select given.parent from above join given using (id)
  )
  select coalesce(array_agg(id), '{}') from above
$$;

-- As in 0006, but for the view of the calls.
create or replace function refresh_span_views() returns void language plpgsql as $$
declare
  end_time text := 'start_time + duration_ns / 1000 * interval ''1 microsecond'' as end_time';
  columns text;
begin
  select string_agg(
      case when name = 'end_time' then end_time else format('spans.%I', name) end,
      ', ' order by is_new, place
    )
  into columns
  from (
    select attname as name, attnum as place, false as is_new
    from pg_attribute where attrelid = 'live_spans'::regclass and attnum > 0
    union all
    select attname, attnum, true
    from pg_attribute
    where attrelid = 'spans'::regclass and attnum > 0 and not attisdropped
      and attname not in (select attname from pg_attribute where attrelid = 'live_spans'::regclass)
  ) as shown;

  -- Expired spans are gone at once here, though their day's partition may live some hours longer.
  execute format(
    'create or replace view live_spans with (security_invoker = true) as select %s from spans
     where start_time >= now() - (select weeks * interval ''1 week'' from retention)
       and ((select reading_organization()) is null
         or organization = (select reading_organization()))',
    columns
  );

  -- Tokens and cost by call. A model call with another one below it (a wrapper) is left out, or it
  -- would count twice. Most calls have no span below them at all, and nothing more is looked at.
  -- What lies below a call begins an hour before it (clocks differ) to a day after it has ended:
  -- without these bounds each call would be looked up in the indexes of every day.
  execute '
    create or replace view llm_calls with (security_invoker = true) as
    select outer_call.*
    from live_spans as outer_call
    where llm_call
      and (
        not exists (
          select from spans as child
          where child.trace_id = outer_call.trace_id and child.parent_span_id = outer_call.span_id
            and child.organization = outer_call.organization
            and child.start_time >= outer_call.start_time - interval ''1 hour''
            and child.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )
        or outer_call.span_id <> all ((
          select spans_above_calls(
            array_agg(span_id), array_agg(parent_span_id), array_agg(llm_call)
          )
          from spans as near
          where near.trace_id = outer_call.trace_id
            and near.organization = outer_call.organization
            and near.start_time >= outer_call.start_time - interval ''1 hour''
            and near.start_time
              <= greatest(outer_call.end_time, outer_call.start_time) + interval ''1 day''
        )::int8[])
      )';
end
$$;

select refresh_span_views();
