-- Tokens that are refused although their signature is good, by the id in their claim `jti`. Each
-- replica reads the list every 15 s.
create table revoked_tokens (
  id text primary key check (id <> '' and length(id) <= 128),
  revoked_at timestamptz not null default now(),
  -- after this no token of that id can be valid, and the row has no use
  expires_at timestamptz not null,
  reason text
);
