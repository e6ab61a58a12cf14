-- Connections to third-party providers (GitHub, Google, …), whose access tokens the crews use.

create table oauth_connections (
  id uuid primary key default gen_random_uuid(),
  organization_id int not null references organizations on delete cascade,
  provider text not null check (provider ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  name text not null check (length(name) between 1 and 100),
  status text not null default 'pending'
    check (status in ('pending', 'connected', 'needs_authorization')),
  -- why it needs authorization
  status_reason text check (status_reason in ('refresh_refused', 'no_refresh_token')),
  -- sealed by the OAuth service: a header, a nonce, the ciphertext and a tag, never the token itself
  access_token bytea check (octet_length(access_token) > 37),
  refresh_token bytea check (octet_length(refresh_token) > 37),
  token_type text check (token_type <> ''),
  scope text,
  -- null: the provider named no end
  expires_at timestamptz,
  -- from when on a caller gets a new token
  refresh_at timestamptz,
  -- whoever refreshes the token; nobody else may in the meantime, for a refresh token is good for one use
  refresh_lease_id uuid,
  refresh_lease_expires_at timestamptz,
  created_at timestamptz not null default now(),
  authorized_at timestamptz,
  refreshed_at timestamptz,
  unique (organization_id, name),
  check ((status = 'connected') = (access_token is not null)),
  check ((status = 'needs_authorization') = (status_reason is not null)),
  check ((access_token is null) = (token_type is null)),
  check (refresh_token is null or access_token is not null),
  check ((expires_at is null) = (refresh_at is null)),
  check (refresh_at <= expires_at),
  check (expires_at is null or access_token is not null),
  check ((refresh_lease_id is null) = (refresh_lease_expires_at is null)),
  check (refresh_lease_id is null or refresh_token is not null),
  check ((authorized_at is null) = (status = 'pending'))
);

-- An authorization that a person has yet to give: one for each connection, good for one callback.
create table oauth_authorizations (
  connection_id uuid primary key references oauth_connections on delete cascade,
  state_hash bytea not null unique check (octet_length(state_hash) = 32),
  code_verifier bytea not null check (octet_length(code_verifier) > 37),
  expires_at timestamptz not null
);
