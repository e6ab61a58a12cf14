-- Reads all that runs have reported; others write meanwhile.

set local statement_timeout = 0;

alter table execution_events validate constraint undated;
alter table run_steps validate constraint undated;
alter table run_payloads validate constraint undated;
alter table run_artifacts validate constraint undated;
