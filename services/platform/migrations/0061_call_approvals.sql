-- Lets a run ask a person about a call of a tool.

set local lock_timeout = '2s';

-- of a call: its id, the name of its function, the key and description of its tool, and the JSON
-- Schema of its arguments, which are what is proposed; null: the output of a task is asked about
alter table run_approvals add column call json;
