-- How long spans are kept; the collector writes its setting here at each start.
create table retention (
  only_row bool primary key default true check (only_row),
  weeks int not null
);

-- What readers use: expired spans are gone at once here, though their day's partition may live some hours longer.
create view live_spans as
select spans.*, start_time + duration_ns / 1000 * interval '1 microsecond' as end_time
from spans
where start_time >= now() - (select weeks * interval '1 week' from retention);

-- Tokens and cost by call. A model call with another one below it (a wrapper) is left out, or it would count twice.
create view llm_calls as
select outer_call.*
from live_spans as outer_call
where llm_call
  and not exists (
    -- "union", not "union all": spans that name each other as parents must not recurse for ever
    with recursive below as (
      select span_id, llm_call
      from spans
      where trace_id = outer_call.trace_id and parent_span_id = outer_call.span_id
      union
      select child.span_id, child.llm_call
      from below join spans as child on child.parent_span_id = below.span_id
      where child.trace_id = outer_call.trace_id
    )
    select from below where llm_call
  );
