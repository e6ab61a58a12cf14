-- Roll-ups that are made of the rows of a commit, so that its spans need not be read for them.

set local lock_timeout = '2s';

-- For each of `trace_ids` the row of `traces` that these spans alone make, or nothing, packed; null
-- without any.
alter table touched_traces add column roll_ups bytea;
alter table touched_traces alter column roll_ups set storage external;

-- Traces without calls of models.
alter table traces
  alter column llm_calls set default 0,
  alter column input_tokens set default 0,
  alter column output_tokens set default 0,
  alter column cache_read_tokens set default 0,
  alter column cache_write_tokens set default 0,
  alter column reasoning_tokens set default 0,
  alter column audio_input_tokens set default 0,
  alter column audio_output_tokens set default 0,
  alter column models set default '{}',
  alter column usage set default '{}';
