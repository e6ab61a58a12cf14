-- Rules over the runs of an organization, and the forms in which webhooks take messages.

set local lock_timeout = '2s';

-- the body of a message: as Standard Webhooks has it, or a text for a channel
alter table webhooks add column format text not null default 'standard'
  check (format in ('standard', 'slack', 'teams'));

-- Rules over the runs of an organization, which say when people and webhooks are to be told.
create table alerts (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  -- null: all automations of the organization together
  deployment_id int,
  name text not null check (length(name) between 1 and 100),
  watches text not null check (length(watches) between 1 and 50),
  window_minutes int not null check (window_minutes between 1 and 1440),
  -- it fires at this value or a higher one
  threshold bigint not null check (threshold between 1 and 9007199254740991),
  -- and is resolved below this one; null: below the same
  resolves_below bigint check (resolves_below between 1 and threshold),
  -- for how long the value has to be there before it fires
  for_minutes int not null check (for_minutes between 0 and 1440),
  -- the runs without which nothing is said
  minimum int not null check (minimum > 0),
  -- addresses of members
  mail text[] not null check (
    cardinality(mail) <= 20 and array_position(mail, null) is null),
  -- until then its state stays as it is
  silenced_until timestamptz,
  -- a look at the rule before a change says nothing about the one after it
  revision int not null default 0,
  state text not null default 'ok' check (state in ('ok', 'firing')),
  -- when the state became what it is; null: it has always been so
  changed_at timestamptz,
  -- since when the value has been there, while it does not fire yet
  breached_since timestamptz,
  -- what the last look found; null: nothing to say
  value float8,
  samples int not null default 0,
  looked_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (deployment_id, organization_id)
    references deployments (id, organization_id) on delete cascade
) with (fillfactor = 50);

create index alerts_of_organization on alerts (organization_id, name, id);
create index alerts_of_deployment on alerts (deployment_id) where deployment_id is not null;

-- Each change of state, with what was found.
create table alert_changes (
  id uuid primary key default gen_random_uuid(),
  alert_id uuid not null references alerts on delete cascade,
  state text not null check (state in ('ok', 'firing')),
  at timestamptz not null,
  value float8 not null,
  samples int not null,
  -- what the rule said then
  watches text not null,
  threshold bigint not null,
  -- the worst five, each with its automation
  runs jsonb not null check (jsonb_typeof(runs) = 'array')
);

create index alert_changes_of_alert on alert_changes (alert_id, at desc);
create index alert_changes_age on alert_changes (at);

-- The mails about changes, each for a person who was a member then.
create table alert_mails (
  -- the mail has it as its Message-ID, the same at each try
  id uuid primary key default gen_random_uuid(),
  change_id uuid not null references alert_changes on delete cascade,
  user_id int not null references users on delete cascade,
  tries int not null default 0 check (tries >= 0),
  -- when to send it; while a service sends it, when another one may
  due_at timestamptz not null,
  ended_at timestamptz,
  -- why the last try failed; null: none did, or it was sent
  problem text check (length(problem) <= 1000),
  unique (change_id, user_id)
);

create index alert_mails_due on alert_mails (due_at) where ended_at is null;
create index alert_mails_of_user on alert_mails (user_id);
