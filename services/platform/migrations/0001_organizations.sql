-- Who owns what, and who may sign in.

create table organizations (
  id int generated always as identity primary key,
  name text not null unique check (length(name) between 1 and 200),
  internal boolean not null default false,
  created_at timestamptz not null default now()
);

create unique index organizations_one_internal on organizations (internal) where internal;

create table users (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  email text not null unique check (email = lower(email) and email ~ '^[^@\s]+@[^@\s]+$'),
  name text not null check (length(name) between 1 and 200),
  -- null: this user signs in through the identity provider only
  password_hash text,
  created_at timestamptz not null default now()
);

create table user_roles (
  user_id int not null references users on delete cascade,
  role text not null check (role in ('platform-admin', 'member')),
  primary key (user_id, role)
);

-- The cookie holds the token; the database only its SHA-256.
create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id int not null references users on delete cascade,
  csrf_token text not null check (length(csrf_token) >= 32),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index sessions_user on sessions (user_id);
create index sessions_expiry on sessions (expires_at);

-- Failed sign-ins by account and by address, counted over a window.
create table sign_in_failures (
  subject text primary key,
  failures int not null check (failures > 0),
  window_ends_at timestamptz not null
);

create table feature_flags (
  id int generated always as identity primary key,
  name text not null check (name ~ '^[a-z0-9_]+$'),
  -- null: the whole platform
  organization_id int references organizations on delete cascade,
  enabled boolean not null,
  unique nulls not distinct (name, organization_id)
);
