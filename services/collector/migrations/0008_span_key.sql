-- Two organizations may have spans with the same ids and start.
set local lock_timeout = '2s';

alter table spans drop constraint spans_pkey;
