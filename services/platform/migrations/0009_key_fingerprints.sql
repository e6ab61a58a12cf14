-- Which key the secrets in this database are sealed with, for each key of the operator's. A salted digest: it tells a key
-- from another one, and nothing else about it.

create table key_fingerprints (
  purpose text primary key check (purpose in ('SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY')),
  salt bytea not null check (octet_length(salt) = 16),
  fingerprint bytea not null check (octet_length(fingerprint) = 32),
  recorded_at timestamptz not null default now()
);
