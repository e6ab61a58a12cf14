-- What people say of traces. The traces themselves are in the database of the collector, and
-- expire there.

create table trace_notes (
  id bigint generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  trace_id uuid not null,
  -- null: somebody who is no longer there
  author_id int references users on delete set null,
  -- 1: good, -1: bad; null: a note alone
  rating smallint check (rating in (1, -1)),
  note text not null check (length(note) <= 4000),
  created_at timestamptz not null default now(),
  check (rating is not null or note <> '')
);

create index trace_notes_of_trace on trace_notes (organization_id, trace_id, id);
create index trace_notes_latest on trace_notes (organization_id, id);
