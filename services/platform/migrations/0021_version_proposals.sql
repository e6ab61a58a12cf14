-- What people asked the Assistant for, and the definition that it proposes: a draft once accepted.

create table version_proposals (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null,
  project_id int not null,
  -- the version that it changes; null: there was none
  base_number int check (base_number > 0),
  request text not null check (length(request) between 1 and 8000),
  -- the runs of the Assistant: the second one only when the first answer was no definition
  run_id uuid not null unique references executions on delete cascade,
  second_run_id uuid unique references executions on delete cascade,
  state text not null default 'asked'
    check (state in ('asked', 'proposed', 'failed', 'accepted', 'discarded')),
  definition jsonb,
  -- what is wrong with the last answer, or why there is none
  problems text[] not null default '{}',
  accepted_number int,
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  foreign key (project_id, organization_id) references projects (id, organization_id)
    on delete cascade,
  check (state not in ('proposed', 'accepted') or definition is not null),
  check ((state = 'accepted') = (accepted_number is not null))
);

create index version_proposals_of_project on version_proposals (project_id, created_at desc);
