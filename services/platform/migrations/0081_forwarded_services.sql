-- The services whose spans are forwarded: names, or beginnings of names before an asterisk.

set local lock_timeout = '2s';

-- none: all services
alter table trace_forwards add column services text[] not null default '{}'
  check (cardinality(services) <= 10);
