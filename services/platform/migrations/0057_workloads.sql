-- Rules by which workloads, such as a job of a CI system, get tokens of an automation for tokens of
-- their own issuer.
create table workload_rules (
  id uuid primary key default gen_random_uuid(),
  deployment_id int not null references deployments on delete cascade,
  name text not null check (length(name) between 1 and 100),
  -- who signs the tokens of the workload; compared byte for byte
  issuer text not null check (length(issuer) between 1 and 2000),
  -- null: the address that discovery names
  jwks_url text check (length(jwks_url) between 1 and 2000),
  -- what the tokens have to say, by claim: a text, or its beginning and an asterisk
  claims jsonb not null check (jsonb_typeof(claims) = 'object' and claims <> '{}'),
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ '{kickoff,read}'),
  -- for how long a token of the automation is good
  minutes int not null check (minutes between 1 and 15),
  -- a token of the workload may be exchanged more than once
  is_reusable boolean not null,
  paused_at timestamptz,
  -- counts its changes: what was decided by the rule before one is not issued after it
  revision int not null default 0,
  created_at timestamptz not null default now()
);

create index workload_rules_of_deployment on workload_rules (deployment_id);

-- The tokens that rules issued.
create table workload_tokens (
  id bigint generated always as identity primary key,
  rule_id uuid not null references workload_rules on delete cascade,
  -- SHA-256 of the token
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- SHA-256 of what was exchanged, without its signature; null: it may be exchanged again
  assertion_hash bytea unique check (octet_length(assertion_hash) = 32),
  -- who the workload is, for people
  subject text not null check (length(subject) <= 200),
  scopes text[] not null check (cardinality(scopes) > 0),
  expires_at timestamptz not null,
  -- until then neither it nor what it was exchanged for is good
  kept_until timestamptz not null
);

create index workload_tokens_of_rule on workload_tokens (rule_id);
create index workload_tokens_age on workload_tokens (kept_until);
