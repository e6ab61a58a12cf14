-- A user who may not sign in, by a password or through an identity provider; the sessions end with it.
alter table users add column disabled_at timestamptz;
