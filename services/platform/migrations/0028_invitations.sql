-- Links that let people in: to join an organization, and into an account of one's own.

-- The link holds the token; the database only its SHA-256.
create table invitations (
  id int generated always as identity primary key,
  organization_id int not null references organizations on delete cascade,
  role organization_role not null,
  -- whom it is for, in the words of whoever invited
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

-- A link to a new password, or past the sign-in; whoever uses it deletes it.
create table account_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id int not null references users on delete cascade,
  purpose text not null check (purpose in ('password', 'sign-in')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at),
  -- the next one takes the place of the one before
  unique (user_id, purpose)
);
