-- Service tiers of providers, which bill calls of batches at other prices.

set local lock_timeout = '2s';

-- the tier that runs of batches ask for; null: the usual one
alter table llm_connections add column batch_tier text
  check (batch_tier ~ '^[a-z0-9][a-z0-9_-]{0,39}$');

-- dollars for a token of each tier that has a price, by its name; null: none has
alter table budget_reservations add column tier_prices jsonb;
