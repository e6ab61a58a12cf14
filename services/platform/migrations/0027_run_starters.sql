-- Who or what started a run; null: it was before this was kept.
alter table executions
  add column trigger text
    check (trigger in ('api', 'console', 'designer', 'assistant', 'schedule')),
  -- such as person:7, token:3, client:crm
  add column starter_id text check (length(starter_id) between 1 and 300),
  -- as it was called then
  add column starter_name text check (length(starter_name) between 1 and 300);

-- Lists by status, and the counts beside them, which read nothing else.
create index executions_of_status on executions (organization_id, status, queued_at desc, id desc)
  include (deployment_id, trigger, starter_name);
