-- Accounts and endpoints at third parties, with sealed keys and tokens.

create table llm_connections (
  id int generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  name text not null check (length(name) between 1 and 100),
  provider text not null check (provider ~ '^[a-z0-9][a-z0-9_-]*$'),
  model text not null check (model <> ''),
  -- set: the provider is specific to this tenant
  base_url text check (base_url ~ '^https?://'),
  created_at timestamptz not null default now(),
  -- a key of the organization's own; without it the variables of the platform are used
  sealed_key bytea check (octet_length(sealed_key) > 37),
  updated_at timestamptz not null default now(),
  -- the form in which the model is asked; auto is chat/completions, or what the answer to it asks
  -- for
  api text not null default 'auto' check (api in ('auto', 'chat_completions', 'responses')),
  unique (organization_id, name)
);

-- Connections to third-party providers, whose tokens the crews use: one of the operator's list, or
-- by settings that an organization enters itself.
create table oauth_connections (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  provider text not null check (provider ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  name text not null check (length(name) between 1 and 100),
  status text not null default 'pending'
    check (status in ('pending', 'connected', 'needs_authorization')),
  -- why it needs authorization
  status_reason text check (status_reason in ('refresh_refused', 'no_refresh_token', 'revoked')),
  -- sealed by the OAuth service: a header, a nonce, the ciphertext and a tag, never the token
  -- itself
  access_token bytea check (octet_length(access_token) > 37),
  refresh_token bytea check (octet_length(refresh_token) > 37),
  token_type text check (token_type <> ''),
  scope text,
  -- null: the provider named no end
  expires_at timestamptz,
  -- after this a caller gets a new token
  refresh_at timestamptz,
  -- who refreshes the token; no other process may meanwhile, because a refresh token is good for
  -- one use
  refresh_lease_id uuid,
  refresh_lease_expires_at timestamptz,
  created_at timestamptz not null default now(),
  authorized_at timestamptz,
  refreshed_at timestamptz,
  kind text not null default 'authorization_code'
    check (kind in ('authorization_code', 'client_credentials', 'static_token')),
  -- null: the provider is one of the operator's list
  settings jsonb check (jsonb_typeof(settings) = 'object'),
  -- what was begun before the settings changed ends without tokens
  settings_version int not null default 1,
  -- sealed like the tokens
  client_secret bytea check (octet_length(client_secret) > 37),
  -- the places that the token may be sent to; none: wherever a tool calls
  hosts text[] not null default '{}' check (cardinality(hosts) <= 50),
  -- why the last refresh or test failed
  failure text check (length(failure) between 1 and 1000),
  failed_at timestamptz,
  unique (organization_id, name),
  check ((status = 'connected') = (access_token is not null)),
  check ((status = 'needs_authorization') = (status_reason is not null)),
  check ((access_token is null) = (token_type is null)),
  check (refresh_token is null or access_token is not null),
  check ((expires_at is null) = (refresh_at is null)),
  check (refresh_at <= expires_at),
  check (expires_at is null or access_token is not null),
  check ((refresh_lease_id is null) = (refresh_lease_expires_at is null)),
  check (kind = 'authorization_code' or settings is not null),
  check ((authorized_at is null) = (status = 'pending')),
  check (client_secret is null or settings is not null),
  check ((failure is null) = (failed_at is null)),
  constraint oauth_connections_refresh_check check (
    refresh_lease_id is null or refresh_token is not null or kind = 'client_credentials')
);

-- An authorization that a person has yet to give: one for each connection, good for one callback.
create table oauth_authorizations (
  connection_id uuid primary key references oauth_connections on delete cascade,
  state_hash bytea not null unique check (octet_length(state_hash) = 32),
  code_verifier bytea not null check (octet_length(code_verifier) > 37),
  expires_at timestamptz not null,
  -- the session that may complete it; null: any client that has the link
  session_hash bytea check (octet_length(session_hash) = 32),
  -- where the browser is sent with the answer of the provider
  return_to text check (length(return_to) between 1 and 2000),
  check ((session_hash is null) = (return_to is null))
);

-- Which key the secrets in this database are sealed with, for each key of the operator's. A salted
-- digest: it distinguishes a key from another one, and reveals nothing else about it.
create table key_fingerprints (
  purpose text primary key check (purpose in ('SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY')),
  salt bytea not null check (octet_length(salt) = 16),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  recorded_at timestamptz not null default now()
);
