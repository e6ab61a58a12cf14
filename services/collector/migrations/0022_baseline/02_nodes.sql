-- Servers beside the primary: replicas that are read from, and the nodes of Citus.

-- The time of the primary, written each second while a replica is read from: the one that has
-- arrived there says how far that replica is behind.
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
