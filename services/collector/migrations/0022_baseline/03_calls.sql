-- Which calls of models count. Libraries report one answer of a model several times: a framework's
-- call is around that of the client, two libraries follow the same client side by side.

-- The calls of a trace that add nothing to its totals, since other spans stand for them. Each span
-- has an entry in every array:
-- - `roles`: `call`, `failed` for a call that failed, `wall` for tools and agents, else null
-- - `usages`: model and tokens of a call, null for one without tokens
-- - `models`: of a call
-- - `sources`: what made the span, its scope and its name
-- - `response_ids`: null where it is not known
--
-- A call with tokens is left out
-- (1) when a call below it has tokens, with no tool and no agent between: it wraps that one. What
--     a tool or an agent asks below a call, it asks on its own account;
-- (2) when a sibling from another source is the same call: it has the same id of the answer, and
--     was at the same time; or, where one of them has no id, the same usage, and one was within the
--     time of the other. What lies below that sibling goes with it. The k-th such span of a source
--     belongs to the k-th of the other: calls at the same time may have the same usage, too.
-- A call without tokens is left out
-- (3) when any call is below it, as in (1), or, unless it failed, a call with tokens is above it;
-- (4) unless it failed, when the next sibling of its model is from another source and has tokens:
--     it prepared that one, or began its stream.
--
-- "union" keeps each span once: that is linear, and spans in a circle come to an end.
create function uncounted_calls(
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
    select id from ranked group by id having bool_and(
      id in (select id from repeated)
      or id in (select id from above where has_usage)
      or id in (select id from below where is_repeated)
      or usage is null and id in (select id from above)
      or usage is null and role = 'call' and id in (select id from below)
      or usage is null and role = 'call' and duration is not null
        and next_usage is not null and next_source <> source
    )
  ) as left_out
$$;

-- What the arrays above have of a span. Names of a model differ by its maker and its date.
create function call_role(is_call bool, status int2, operation_kind text) returns text
language sql immutable parallel safe as $$
  select case
    when is_call then case when status = 2 then 'failed' else 'call' end
    when operation_kind in ('tool', 'agent') then 'wall'
  end
$$;

create function call_model(is_call bool, request_model text, response_model text) returns text
language sql immutable parallel safe as $$
  select case when is_call then regexp_replace(
    lower(coalesce(request_model, response_model, '')),
    '^.*/|[-@](20\d{6}|20\d\d-\d\d-\d\d)$', '', 'g'
  ) end
$$;

create function call_usage(is_call bool, model text, input_tokens int8, output_tokens int8)
returns text language sql immutable parallel safe as $$
  select case when is_call and (input_tokens > 0 or output_tokens > 0)
    then concat_ws(' ', input_tokens, output_tokens, model) end
$$;

-- For what senders say is JSON.
create function json_or_null(given text) returns jsonb language plpgsql immutable as $$
begin
  return given::jsonb;
exception
  when others then return null;
end
$$;
