-- Connections by settings that an organization enters itself: any OAuth 2 provider, a client of its
-- own, or a static token.

alter table oauth_connections
  add column kind text not null default 'authorization_code'
    check (kind in ('authorization_code', 'client_credentials', 'static_token')),
  -- null: the provider is one of the operator's list
  add column settings jsonb check (jsonb_typeof(settings) = 'object'),
  -- whatever was begun before the settings changed ends without tokens
  add column settings_version int not null default 1,
  -- sealed like the tokens
  add column client_secret bytea check (octet_length(client_secret) > 37),
  -- the places that the token may be sent to; none: wherever a tool calls
  add column hosts text[] not null default '{}' check (cardinality(hosts) <= 50),
  -- why the last refresh or test failed
  add column failure text check (length(failure) between 1 and 1000),
  add column failed_at timestamptz,
  add check (kind = 'authorization_code' or settings is not null),
  add check (client_secret is null or settings is not null),
  add check ((failure is null) = (failed_at is null)),
  -- the status reasons, and who refreshes without a refresh token
  drop constraint oauth_connections_status_reason_check,
  add constraint oauth_connections_status_reason_check
    check (status_reason in ('refresh_refused', 'no_refresh_token', 'revoked')),
  drop constraint oauth_connections_check8,
  add constraint oauth_connections_refresh_check check (
    refresh_lease_id is null or refresh_token is not null or kind = 'client_credentials');

alter table oauth_authorizations
  -- the session that may complete it; null: whoever has the link
  add column session_hash bytea check (octet_length(session_hash) = 32),
  -- where the browser is sent with the answer of the provider
  add column return_to text check (length(return_to) between 1 and 2000),
  add check ((session_hash is null) = (return_to is null));
