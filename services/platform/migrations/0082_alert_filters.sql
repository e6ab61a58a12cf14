-- Alerts over some of the runs alone.

set local lock_timeout = '2s';

-- In the language of query boxes: `model:gpt* cost>0.1`; empty: all runs.
alter table alerts add column filter text not null default ''
  check (char_length(filter) <= 500);
