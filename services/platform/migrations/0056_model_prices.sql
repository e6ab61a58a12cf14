-- What models cost an organization by its own contract. They come before the prices of the file and
-- the shipped ones; the trace collector has a copy, which is sent with each change.

set local lock_timeout = '2s';

create table model_prices (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- in lower case, without what stands before the last slash of a name
  models text[] not null check (
    cardinality(models) between 1 and 50 and array_position(models, null) is null),
  -- days in UTC: from the first one to the day before the last; null: without a beginning or end
  begins date,
  ends date check (ends > begins),
  -- US dollars for a million tokens, by kind
  per_million jsonb not null check (jsonb_typeof(per_million -> 'input') = 'number'),
  created_at timestamptz not null default now()
);

create index model_prices_of_organization on model_prices (organization_id, name, id);
