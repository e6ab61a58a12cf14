-- What one organization may do, where it differs from the settings of the platform.

create table organization_limits (
  organization_id int primary key references organizations on delete cascade,
  -- calls of the APIs in a minute, by one token and by all; null: as the settings have it,
  -- 0: no limit
  token_calls int check (token_calls between 0 and 10000000),
  organization_calls int check (organization_calls between 0 and 10000000),
  -- runs that wait in the queue
  queued_runs int check (queued_runs between 0 and 10000000),
  updated_at timestamptz not null default now()
);

-- The calls of this minute, as the web services tell each other about once a second. A crash of the
-- database may lose them, and the minute begins anew.
create unlogged table api_calls (
  subject text primary key check (length(subject) between 1 and 100),
  -- since 1970
  minute int not null,
  calls int not null check (calls >= 0)
) with (fillfactor = 50);
