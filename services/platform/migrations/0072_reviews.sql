-- Answers that wait for a person to rate them.

set local lock_timeout = '2s';

-- Who judges the runs of an automation; without a row nothing does.
create table score_rules (
  deployment_id int primary key,
  organization_id int not null,
  -- of 100 runs that complete, so many wait for a person
  reviewed_share int not null check (reviewed_share between 0 and 100),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade
);

create index evaluation_runs_unjudged on evaluation_runs (evaluation_id)
  where state = 'error' and output is not null;
