-- What rehearsals of upgrades of this database found, signed: programs that migrate it ask for one
-- where the operator requires it.
create table upgrade_verdicts (
  id bigint generated always as identity primary key,
  document json not null,
  recorded_at timestamptz not null default now()
);
