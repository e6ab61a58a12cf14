-- Limits where the data of an organization goes.

set local lock_timeout = '2s';

-- the regions in which its data stays; none: it may go anywhere
alter table organizations add column allowed_regions text[] not null default '{}'
  check (cardinality(allowed_regions) <= 50);

-- where what it leads to is, as people say; null: they say nothing
alter table llm_connections add column region text check (region ~ '^[a-z0-9-]{1,40}$');
alter table oauth_connections add column region text check (region ~ '^[a-z0-9-]{1,40}$');
alter table webhooks add column region text check (region ~ '^[a-z0-9-]{1,40}$');
