-- What batches reserve of budgets before their rows are started.

set local lock_timeout = '2s';

-- Beside the reservations of calls, and in the sums of the ledgers as those are. No reference to
-- the batch: the ledger has to give up what is deleted here.
create table batch_reservations (
  batch_id uuid not null,
  budget_id int not null,
  period text not null,
  -- what is left, for rows and runs that have not ended
  tokens bigint not null check (tokens >= 0),
  usd numeric not null check (usd >= 0),
  -- no longer the batch's, and still in the ledger
  freed_tokens bigint not null default 0 check (freed_tokens >= 0),
  freed_usd numeric not null default 0 check (freed_usd >= 0),
  -- at first, and for so many rows
  all_tokens bigint not null,
  all_usd numeric not null,
  all_rows int not null check (all_rows > 0),
  looked_at timestamptz not null default now(),
  primary key (batch_id, budget_id, period),
  foreign key (budget_id, period) references budget_ledgers on delete cascade
);

create index batch_reservations_of_ledger on batch_reservations (budget_id, period);
