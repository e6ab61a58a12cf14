-- Alerts over what runs cost, and over what people find of them.

set local lock_timeout = '2s';

-- Dollars have decimals.
-- safe: programs read and write them as numbers, as before
alter table alerts drop constraint alerts_threshold_check, drop constraint alerts_check,
  alter column threshold type float8, alter column resolves_below type float8;
-- safe: it refuses nothing that they write
alter table alerts
  add check (threshold > 0 and threshold <= 9007199254740991),
  add check (resolves_below > 0 and resolves_below <= threshold);
-- safe: programs read and write it as a number, as before
alter table alert_changes alter column threshold type float8;

-- What runs cost that have ended, once an alert asks for it, for as long as one looks back.
create table run_costs (
  run_id uuid primary key references executions on delete cascade,
  -- of the run
  finished_at timestamptz not null,
  -- null: a model has no price
  usd float8 check (usd >= 0)
);

create index run_costs_age on run_costs (finished_at);

create index trace_notes_rated on trace_notes (created_at) where rating is not null;
