-- Spans that the platform forwards to others, in the order in which they were committed.

set local lock_timeout = '2s';

-- Organizations whose spans are forwarded, as the platform says.
create table forwarding (
  organization text primary key,
  since timestamptz not null default now()
);

-- True for notes in the transaction that stored spans: others ask for roll-ups alone.
alter table touched_traces add column is_stored bool not null default false;

-- Which traces got spans, from `touched_traces`. The leader of the roll-ups alone writes it, under
-- its lock: no row appears behind one that can be read already.
create table spans_to_forward (
  id int8 generated always as identity primary key,
  organization text not null,
  day date not null,
  -- of 16 bytes each, back to back; one may be there twice
  trace_ids bytea not null,
  noted_at timestamptz not null,
  -- the transaction that stored the spans, which they have as `xmin`
  stored_by int8 not null,
  -- the transaction of this row. Where that is not its `xmin`, the database was restored from a
  -- copy, and the spans have other ones, too
  moved_by int8 not null default pg_current_xact_id()::text::int8 % 4294967296
);

alter table spans_to_forward alter column trace_ids set storage external;

create index spans_to_forward_of_organization on spans_to_forward (organization, id);
create index spans_to_forward_noted_at on spans_to_forward (noted_at);

select protect_by_organization('forwarding');
select protect_by_organization('spans_to_forward');
