-- Calls of models that people make again from a record: an organization makes few at a time. What
-- they answer is not kept.

set local lock_timeout = '2s';

create table model_tries (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  -- by then it is over, also where its process was lost
  ends_at timestamptz not null
);

create index model_tries_of_organization on model_tries (organization_id);
