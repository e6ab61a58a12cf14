-- As before, with joins in its last step: the planner takes calls within calls for so many that it
-- looked through all of them for each call, so the time grew with their square, 40 s for a trace of
-- 50,000 spans.

create or replace function uncounted_calls(
  ids int8[], parents int8[], starts timestamptz[], durations int8[], roles text[],
  usages text[], models text[], sources text[], response_ids text[]
) returns int8[] language sql immutable parallel safe as $$
  with recursive span as materialized (
    select id, coalesce(parent, 0) as parent, begins, duration,
      begins + greatest(duration, 0) / 1000 * interval '1 microsecond' as ends,
      role, coalesce(role in ('call', 'failed'), false) as is_call, usage, model, source,
      response_id
    from unnest(
      ids, parents, starts, durations, roles, usages, models, sources, response_ids
    ) as given (id, parent, begins, duration, role, usage, model, source, response_id)
  ),
  -- spans of one parent and response, or of one parent and usage, while they overlap
  gaps as (
    select *,
      coalesce(begins > max(ends) over of_response, true)::int as response_gap,
      coalesce(begins > max(ends) over of_usage, true)::int as usage_gap,
      lead(usage) over by_model as next_usage, lead(source) over by_model as next_source
    from span where is_call
    window of_response as (
        partition by parent, response_id order by begins, ends desc, id
        rows between unbounded preceding and 1 preceding
      ),
      of_usage as (
        partition by parent, usage order by begins, ends desc, id
        rows between unbounded preceding and 1 preceding
      ),
      by_model as (partition by parent, model order by begins, id)
  ),
  islands as (
    select *,
      sum(response_gap) over (
        partition by parent, response_id order by begins, ends desc, id
      ) as response_island,
      sum(usage_gap) over (
        partition by parent, usage order by begins, ends desc, id
      ) as usage_island
    from gaps
  ),
  ranked as materialized (
    select *,
      row_number() over (
        partition by parent, response_id, response_island, source order by begins, id
      ) as nr_of_response,
      row_number() over (
        partition by parent, usage, usage_island, source order by begins, id
      ) as nr_of_usage
    from islands
  ),
  compared as (
    select id, response_id, usage, begins, ends,
      count(*) over same_response as responses,
      max(begins) over same_usage as usage_begins, max(ends) over same_usage as usage_ends,
      max(begins) filter (where response_id is null) over same_usage as unnamed_begins,
      max(ends) filter (where response_id is null) over same_usage as unnamed_ends
    from ranked
    window same_response as (
        partition by parent, response_id, response_island, nr_of_response
        order by usage is null, begins, ends desc, id
        rows between unbounded preceding and 1 preceding
      ),
      same_usage as (
        partition by parent, usage, usage_island, nr_of_usage order by begins, ends desc, id
        rows between unbounded preceding and 1 preceding
      )
  ),
  -- clocks of one process may differ by a millisecond
  repeated as materialized (
    select id from compared
    where response_id is not null and responses > 0
      or usage is not null and (
        usage_ends >= ends - interval '1 ms' or usage_begins >= begins - interval '1 ms'
      ) and response_id is null
      or usage is not null and (
        unnamed_ends >= ends - interval '1 ms' or unnamed_begins >= begins - interval '1 ms'
      )
  ),
  above as (
    select parent as id, usage is not null as has_usage from span where is_call
    union
    select span.parent, above.has_usage
    from above join span using (id)
    where span.role is distinct from 'wall'
  ),
  below as (
    select child.id, top.is_repeated
    from (
      select id, id in (select id from repeated) as is_repeated from ranked
      where usage is not null or id in (select id from repeated)
    ) as top join span as child on child.parent = top.id
    where child.role is distinct from 'wall'
    union
    select child.id, below.is_repeated
    from below join span as child on child.parent = below.id
    where child.role is distinct from 'wall'
  )
  -- an id that was given twice is left out when both of its spans are
  select coalesce(array_agg(id), '{}') from (
    select ranked.id from ranked
      left join (select distinct id from repeated) as repeats on repeats.id = ranked.id
      left join (select id, bool_or(has_usage) as has_usage from above group by id) as ancestors
        on ancestors.id = ranked.id
      left join (select id, bool_or(is_repeated) as is_repeated from below group by id)
        as descendants on descendants.id = ranked.id
    group by ranked.id having bool_and(
      repeats.id is not null
      or ancestors.has_usage is true
      or descendants.is_repeated is true
      or usage is null and ancestors.id is not null
      or usage is null and role = 'call' and descendants.id is not null
      or usage is null and role = 'call' and duration is not null
        and next_usage is not null and next_source <> source
    )
  ) as left_out
$$;
