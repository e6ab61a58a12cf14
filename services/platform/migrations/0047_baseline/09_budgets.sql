-- Limits on what models cost, and one ledger of what was spent and what calls in flight may need.

create table budgets (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- null: all automations of the organization together
  deployment_id int,
  -- days and months are those of UTC
  period text not null check (period in ('run', 'day', 'month')),
  tokens_max bigint check (tokens_max between 1 and 9007199254740991),
  usd_max numeric check (usd_max > 0 and usd_max <= 1000000 and scale(usd_max) <= 2),
  -- calls of a model that has no price, where money is limited
  unpriced text not null default 'refuse' check (unpriced in ('refuse', 'free')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (deployment_id, organization_id)
    references deployments (id, organization_id) on delete cascade,
  check (tokens_max is not null or usd_max is not null),
  check (period <> 'run' or deployment_id is not null)
);

create unique index budgets_of on budgets (organization_id, coalesce(deployment_id, 0), period);

-- One row for each period of a budget in which models were called.
create table budget_ledgers (
  budget_id int not null references budgets on delete cascade,
  -- '2026-11-22', '2026-11', or the id of the run
  period text not null,
  -- set where the period is a run
  run_id uuid references executions on delete cascade,
  spent_tokens bigint not null default 0 check (spent_tokens >= 0),
  spent_usd numeric not null default 0 check (spent_usd >= 0),
  reserved_tokens bigint not null default 0 check (reserved_tokens >= 0),
  reserved_usd numeric not null default 0 check (reserved_usd >= 0),
  -- when 80 % of a limit were spent
  warned_at timestamptz,
  primary key (budget_id, period)
);

create index budget_ledgers_of_run on budget_ledgers (run_id) where run_id is not null;

-- What calls in flight may need. It belongs to the lease of the attempt that calls, and is void
-- once another lease, or none, holds the run. No reference to the run: the ledger has to give up
-- what is deleted here.
create table budget_reservations (
  run_id uuid not null,
  step_key text not null,
  budget_id int not null,
  period text not null,
  lease_id uuid not null,
  tokens bigint not null check (tokens >= 0),
  usd numeric not null check (usd >= 0),
  -- dollars for a token; 0 where the model has no price
  input_price numeric not null check (input_price >= 0),
  output_price numeric not null check (output_price >= 0),
  reserved_at timestamptz not null default now(),
  -- of a token that the provider had in its cache; null: the price of the model does not say
  -- it, and the token is paid for like the others
  cached_price numeric check (cached_price >= 0),
  primary key (run_id, step_key, budget_id),
  foreign key (budget_id, period) references budget_ledgers on delete cascade
);

create index budget_reservations_of_ledger on budget_reservations (budget_id, period);

-- The runs that wait for a budget, and why.
create table budget_stops (
  run_id uuid primary key references executions on delete cascade,
  budget_id int references budgets on delete set null,
  stopped_at timestamptz not null default now(),
  -- the limit, what was spent and reserved then, and what the call may need
  stop jsonb not null check (jsonb_typeof(stop) = 'object')
);

create index budget_stops_of_budget on budget_stops (budget_id);
