-- What workers last found of BuildKit and the registry of crews: one row for their look once a
-- minute, and one for the image that somebody had made to try both.
create table build_checks (
  kind text primary key check (kind in ('look', 'canary')),
  checked_at timestamptz not null default now(),
  found jsonb not null check (jsonb_typeof(found) = 'object')
);
