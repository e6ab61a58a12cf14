-- OAuth 2.0 for Automations: which access tokens an organization's automations accept.

create table automation_oauth (
  organization_id int primary key references organizations on delete cascade,
  enabled boolean not null,
  issuer text not null check (issuer ~ '^https?://' and length(issuer) <= 2000),
  -- null: the well-known places of the issuer
  discovery_url text check (discovery_url ~ '^https?://' and length(discovery_url) <= 2000),
  -- null: as discovery says
  jwks_url text check (jwks_url ~ '^https?://' and length(jwks_url) <= 2000),
  -- where callers get tokens; for the examples that are shown to them
  token_url text check (token_url ~ '^https?://' and length(token_url) <= 2000),
  -- never empty: a token for someone else is never a token for us
  audiences text[] not null check (
    cardinality(audiences) between 1 and 20 and '' <> all (audiences)
    and array_position(audiences, null) is null),
  absent_audience_allowed boolean not null,
  -- one scope token of RFC 6749 §3.3
  scope text not null check (scope ~ '^[!#-\[\]-~]{1,200}$'),
  scope_claim text not null check (scope_claim in ('scope', 'roles')),
  algorithms text[] not null check (cardinality(algorithms) > 0 and algorithms <@ array[
    'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']),
  skew_seconds int not null check (skew_seconds between 0 and 120),
  lifetime_seconds_max int not null check (lifetime_seconds_max between 60 and 2592000),
  static_tokens_allowed boolean not null,
  updated_at timestamptz not null default now()
);

-- The client of the last well-signed token that was sent to an automation, accepted or not.
create table client_sightings (
  deployment_id int primary key references deployments on delete cascade,
  client_id text not null check (length(client_id) between 1 and 255),
  seen_at timestamptz not null default now()
);

-- How many runs of an automation go on at a time, over all workers; null: as many as the workers take.
alter table deployments add column concurrency_max int check (concurrency_max between 1 and 1000);

-- Workers look at the head of each automation's line.
create index executions_line on executions (deployment_id, available_at) where status = 'queued';
create index executions_running on executions (deployment_id) where status = 'running';
