-- When the queue last started a run of each automation. A table of its own, so that workers, which
-- choose one after the other, never wait for a change of an automation.

create table queue_turns (
  deployment_id int primary key references deployments on delete cascade,
  taken_at timestamptz not null
) with (fillfactor = 50);
