-- Versions with a share are also compared by the scores of their runs.

set local lock_timeout = '2s';

-- safe: the release before leaves both columns out
alter table release_runs
  -- as checks scored the run; null: it was not seen
  add column has_failed_score boolean,
  -- the order in which that was seen
  add column scored_position bigint,
  add check ((has_failed_score is null) = (scored_position is null));
