-- What a static token may do, for how long, and from where. Those that were issued before may do
-- everything for ever, as they could.

alter table static_tokens
  add column scopes text[] not null default '{kickoff,read,design,upload}'
    check (cardinality(scopes) between 1 and 4
      and scopes <@ '{kickoff,read,design,upload}'::text[]),
  -- null: never
  add column expires_at timestamptz,
  -- none: from anywhere
  add column networks cidr[] not null default '{}' check (cardinality(networks) <= 50),
  add column last_used_address text check (length(last_used_address) <= 64),
  -- the one whose place it takes
  add column replaces int references static_tokens on delete set null;

create index static_tokens_expiry on static_tokens (organization_id, expires_at)
  where revoked_at is null and expires_at is not null;
