-- Callers without secrets, and runs with an identity.

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

-- Connections whose tokens the platform signs itself, for each run. What is there fulfils the
-- narrower condition of before, so that nothing has to be looked at.
-- safe: it refuses nothing that they write
alter table oauth_connections drop constraint oauth_connections_kind_check;
-- safe: it refuses nothing that they write
alter table oauth_connections add constraint oauth_connections_kind_check
  check (kind in ('authorization_code', 'client_credentials', 'static_token', 'identity'))
  not valid;

-- What the platform signs the identities of runs with; a new one is published before it signs.
create table identity_keys (
  kid uuid primary key,
  -- sealed by the OAuth service, which it never leaves
  sealed_key bytea not null check (octet_length(sealed_key) > 37),
  public_key jsonb not null check (jsonb_typeof(public_key) = 'object'),
  created_at timestamptz not null default now()
);

-- The identities that runs got, never the tokens themselves.
create table identity_tokens (
  id uuid primary key,
  run_id uuid not null references executions on delete cascade,
  connection text not null check (length(connection) between 1 and 100),
  audience text not null check (length(audience) between 1 and 500),
  issued_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index identity_tokens_of_run on identity_tokens (run_id, issued_at);
