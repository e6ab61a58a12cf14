-- By what lists find and order traces, beside the columns that `traces` has.

-- Names of services, models, agents, tasks, tools and types of errors, each with its kind before
-- it.
alter table traces add column terms text[] not null default '{}';

-- A short list of pending entries: each search reads it.
create index traces_terms on traces using gin (terms) with (gin_pending_list_limit = 1024);

create index traces_duration on traces (duration_ns, start_time, trace_id)
where duration_ns is not null;
create index traces_cost on traces (cost_usd, start_time, trace_id) where cost_usd is not null;
create index traces_tokens on traces ((input_tokens + output_tokens), start_time, trace_id);
-- The latest traces of sessions, of which the last one of each stands for it.
create index traces_in_sessions on traces (start_time, trace_id) where session_id is not null;

-- What readers use: nothing that has expired, and of one organization where the transaction is
-- limited to it. These views read with the rights of their owner, and their condition is what
-- limits a reader: below row-level security an index on an array would not be used, for its
-- operator is not leakproof.
create view listed_traces as
select * from traces
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));

create view listed_usage as
select * from usage_hourly
where hour >= date_trunc('hour', now() - (select weeks * interval '1 week' from retention), 'UTC')
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));
