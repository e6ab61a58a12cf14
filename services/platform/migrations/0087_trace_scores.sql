-- Checks that score a share of the traces that other programs sent.

set local lock_timeout = '2s';

create table trace_score_rules (
  organization_id int primary key references organizations on delete cascade,
  -- of 100 traces, so many are scored
  share int not null check (share between 0 and 100),
  -- only those of this service; null: of all
  service text check (length(service) between 1 and 200),
  checks jsonb not null check (jsonb_typeof(checks) = 'array'),
  -- traces that started before are not scored
  scored_since timestamptz not null default now(),
  -- all that started before was looked at
  looked_until timestamptz,
  -- when to look next; while a worker does, when another one may
  due_at timestamptz not null default now(),
  lease_id uuid,
  -- why the last look failed
  problem text check (length(problem) <= 1000)
);

create index trace_score_rules_due on trace_score_rules (due_at) where share > 0;

create table trace_scores (
  organization_id int not null references organizations on delete cascade,
  trace_id text not null check (trace_id ~ '^[0-9a-f]{32}$'),
  state text not null check (state in ('passed', 'failed', 'error')),
  scored_at timestamptz not null default now(),
  -- why it did not pass
  reason text,
  -- what each check found
  findings jsonb not null,
  -- what asking judges took; null: a model has no price
  tokens bigint not null,
  usd numeric,
  primary key (organization_id, trace_id)
);

create index trace_scores_by_day on trace_scores (organization_id, scored_at);
create index trace_scores_age on trace_scores (scored_at);
