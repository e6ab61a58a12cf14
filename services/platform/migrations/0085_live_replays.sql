-- Replays that ask models what the record does not answer, up to a number of tokens of their own.

set local lock_timeout = '2s';

alter table replays add column mode text not null default 'offline'
  constraint replays_mode check (mode in ('offline', 'live'));
-- of a live one: what its models may take in all, and what they took or may take at this moment
alter table replays add column tokens_max bigint not null default 0
  constraint replays_tokens_max check (tokens_max >= 0);
alter table replays add column asked_tokens bigint not null default 0;

-- what the models took that were asked; no dollars: one of them has no price
alter table replay_runs add column asked_tokens bigint;
alter table replay_runs add column usd numeric;
