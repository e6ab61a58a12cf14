-- The newest runs of an automation have to replay before a version is published.

set local lock_timeout = '2s';

create table replay_gates (
  deployment_id int primary key,
  organization_id int not null,
  -- so many of the newest runs; 0: there is no such gate
  last int not null check (last between 0 and 1000),
  -- which differences refuse a version: in calls of tools alone, or any
  refuses text not null check (refuses in ('tool_calls', 'any')),
  -- the time for the replay
  within_minutes int not null check (within_minutes between 1 and 1440),
  foreign key (deployment_id, organization_id) references deployments (id, organization_id)
    on delete cascade
);
