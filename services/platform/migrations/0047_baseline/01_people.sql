-- Organizations, the people in them, and how they sign in.

create table organizations (
  id int generated always as identity primary key,
  name text not null unique check (length(name) between 1 and 200),
  -- the platform's own, which has the Runner and the Assistant
  internal boolean not null default false,
  created_at timestamptz not null default now()
);

create unique index organizations_one_internal on organizations (internal) where internal;

-- What one organization may do, where it differs from the settings of the platform.
create table organization_limits (
  organization_id int primary key references organizations on delete cascade,
  -- calls of the APIs in a minute, by one token and by all; null: as the settings have it,
  -- 0: no limit
  token_calls int check (token_calls between 0 and 10000000),
  organization_calls int check (organization_calls between 0 and 10000000),
  -- runs that wait in the queue
  queued_runs int check (queued_runs between 0 and 10000000),
  updated_at timestamptz not null default now()
);

create table feature_flags (
  id int generated always as identity primary key,
  name text not null check (name ~ '^[a-z0-9_]+$'),
  -- null: the whole platform
  organization_id int references organizations on delete cascade,
  enabled boolean not null,
  unique nulls not distinct (name, organization_id)
);

create table users (
  id int generated always as identity primary key,
  -- the organization that the person was in last, where the next session begins
  organization_id int references organizations on delete set null,
  -- Providers may give none, or the one of a local account. An address may change hands: it proves
  -- nothing here.
  email text check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$'),
  name text not null check (length(name) between 1 and 200),
  -- null: this user signs in through the identity provider only
  password_hash text,
  created_at timestamptz not null default now(),
  -- the identity at a provider: its issuer and its `sub`
  issuer text check (issuer ~ '^https?://'),
  subject text check (length(subject) between 1 and 255),
  -- may not sign in, by a password or through an identity provider; the sessions end with it
  disabled_at timestamptz,
  check ((issuer is null) = (subject is null)),
  check (issuer is null or password_hash is null),
  check (issuer is not null or email is not null),
  unique (issuer, subject)
);

create unique index users_local_email on users (email) where issuer is null;

-- Rights on the whole platform. A role may be granted here and by a claim; each source withdraws
-- its own only.
create table user_roles (
  user_id int not null references users on delete cascade,
  role text not null check (role = 'platform-admin'),
  source text not null default 'local' check (source in ('local', 'claim')),
  primary key (user_id, role, source)
);

-- In the order of what they allow.
create type organization_role as enum ('viewer', 'editor', 'admin');

create table memberships (
  user_id int not null references users on delete cascade,
  organization_id int not null references organizations on delete cascade,
  role organization_role not null,
  -- People here and claims of the identity provider each give and take back their own only; the
  -- higher role counts.
  source text not null default 'local' check (source in ('local', 'claim')),
  created_at timestamptz not null default now(),
  primary key (user_id, organization_id, source)
);

create index memberships_of_organization on memberships (organization_id, user_id);

-- The cookie holds the token; the database only its SHA-256.
create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id int not null references users on delete cascade,
  csrf_token text not null check (length(csrf_token) >= 32),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- shown to the identity provider at the sign-out; sealed with a key that only the cookie can give
  sealed_id_token text,
  id uuid not null default gen_random_uuid() unique,
  organization_id int references organizations on delete set null,
  -- where it began, as people recognize it
  client_address text check (length(client_address) <= 64),
  user_agent text check (length(user_agent) <= 300)
);

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- Failed sign-ins by account and by address, counted over a window.
create table sign_in_failures (
  subject text primary key,
  failures int not null check (failures > 0),
  window_ends_at timestamptz not null
);

-- Answers of an identity provider that were used: each is good for once, in every replica.
create table used_sign_ins (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  expires_at timestamptz not null
);

-- Links to join an organization. The link holds the token; the database only its SHA-256.
create table invitations (
  id int generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  role organization_role not null,
  -- whom it is for, in the words of the person who invites
  note text not null default '' check (length(note) <= 200),
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at),
  accepted_at timestamptz,
  accepted_by int references users on delete set null,
  revoked_at timestamptz,
  check (accepted_at is null or revoked_at is null)
);

create index invitations_open on invitations (organization_id, created_at)
  where accepted_at is null and revoked_at is null;

-- A link to a new password, or past the sign-in; its use deletes it.
create table account_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id int not null references users on delete cascade,
  purpose text not null check (purpose in ('password', 'sign-in')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at),
  -- the next one takes the place of the one before
  unique (user_id, purpose)
);
