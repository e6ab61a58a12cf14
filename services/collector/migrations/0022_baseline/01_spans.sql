-- What senders sent: spans, and what made them. `conventions/` has the table from which columns are
-- filled, with one meaning for every library.

-- One row per span, in a partition for each day. Fixed-width columns stand first, widest first, so
-- that no row carries padding.
create table spans (
  trace_id uuid not null,
  span_id int8 not null,
  start_time timestamptz not null,
  -- null while the sender has not given an end
  duration_ns int8,
  -- null for the root of a trace
  parent_span_id int8,
  resource_id int8 not null,
  scope_id int8 not null,
  flags int8,
  dropped_attributes int8,
  dropped_events int8,
  dropped_links int8,
  input_tokens int8,
  output_tokens int8,
  cache_read_tokens int8,
  cache_write_tokens int8,
  reasoning_tokens int8,
  cost_usd float8,
  -- the nanoseconds that start_time, in microseconds, cannot hold
  start_ns int2 not null,
  kind int2 not null,
  status int2 not null,
  -- true for a call of a model itself, not for the agent, task or tool around it
  llm_call bool not null,
  name text not null,
  status_message text,
  trace_state text,
  operation text,
  provider text,
  request_model text,
  response_model text,
  agent text,
  task_id text,
  task text,
  tool text,
  crew_id text,
  kickoff_id text,
  session_id text,
  user_id text,
  error_type text,
  -- attributes whose values are small
  attributes jsonb,
  -- one JSON object of the attributes whose values are large, kept away from the jsonb parser and
  -- from listings
  payload text,
  -- JSON arrays
  events text,
  links text,
  -- llm, embedding, tool, agent, task, retriever, reranker, guardrail or other; null where a span
  -- is no step of a crew. `operation` keeps the library's own word.
  operation_kind text,
  audio_input_tokens int8,
  audio_output_tokens int8,
  workflow text,
  -- whose span it is: '' for the platform's own, else the organization in the sender's token
  organization text default '',
  -- the provider's name of an answer: two spans with the same one are the same call
  response_id text,
  -- the name of a span with its values, where the name itself is a template
  title text
) partition by range (start_time);

-- What identifies a span. start_time leads: rows of one time lie together, so that ingest and "the
-- latest traces" touch few pages. The organization is last, where it costs least: it decides only
-- between spans of two organizations whose ids and start are equal.
create unique index spans_identity on spans (start_time, trace_id, span_id, organization);
create index spans_trace_id on spans (trace_id);

-- A span without an organization is a fault of the program, not of the row: 55000 makes the program
-- keep its rows and try again, where it would reject a row that fails a plain check.
create function raise_older_program() returns bool language plpgsql as $$
begin
  raise exception 'This program is older than the schema of its database.'
    using errcode = 'object_not_in_prerequisite_state',
      hint = 'Wait until the upgrade has replaced it.';
end
$$;

alter table spans add constraint spans_organization
  check (organization is not null or raise_older_program()) not valid;

alter table spans alter column payload set storage main;

-- pglz costs more time than it saves; a server built without lz4 stores large values as they are.
do $$
declare
  large_column text;
  has_lz4 boolean := exists (
    select from pg_settings
    where name = 'default_toast_compression' and 'lz4' = any (enumvals)
  );
begin
  foreach large_column in array array['attributes', 'payload', 'events', 'links'] loop
    if has_lz4 then
      execute format('alter table spans alter column %I set compression lz4', large_column);
    else
      execute format('alter table spans alter column %I set storage external', large_column);
    end if;
  end loop;
end
$$;

-- What sent the spans, and which instrumentation made them: written once, known by a hash of their
-- content.
create table resources (
  id int8 primary key,
  last_seen date not null,
  attributes jsonb not null,
  dropped_attributes int8,
  schema_url text,
  organization text not null default ''
);

create table scopes (
  id int8 primary key,
  last_seen date not null,
  name text not null,
  version text,
  attributes jsonb not null,
  dropped_attributes int8,
  schema_url text,
  organization text not null default ''
);

-- Spans that the database itself refused, with what it said.
create table span_rejects (
  id int8 generated always as identity primary key,
  received_at timestamptz not null default now(),
  trace_id uuid,
  span_id int8,
  sqlstate text not null,
  reason text not null,
  -- the row as COPY BINARY carries it
  row_bytes bytea not null,
  organization text not null default ''
);

create index span_rejects_received_at on span_rejects (received_at);

-- How long spans are kept; the collector writes its setting here at each start.
create table retention (
  only_row bool primary key default true check (only_row),
  weeks int not null
);
