-- What runs report is to be kept by the day of its run, so that a day that is too old is dropped
-- as a whole. With the migration after the next, runs say their day in their ids: UUIDs of version
-- 8 (RFC 9562), whose first 48 bits are the days since 1970, before 74 random bits. All other ids
-- are random, and sort after those. This lets the next migration look through the rows that are
-- there while others write, and the one after it take the tables over as they are.

set local lock_timeout = '500ms';

-- safe: no run had such an id before, but for one in four billion
alter table execution_events add constraint undated
  check (execution_id >= '00000001-0000-0000-0000-000000000000') not valid;
-- safe: as above
alter table run_steps add constraint undated
  check (run_id >= '00000001-0000-0000-0000-000000000000') not valid;
-- safe: as above
alter table run_payloads add constraint undated
  check (run_id >= '00000001-0000-0000-0000-000000000000') not valid;
-- safe: as above
alter table run_artifacts add constraint undated
  check (run_id >= '00000001-0000-0000-0000-000000000000') not valid;
