-- Tokens of the trace collector that people issued in the console. The token itself is nowhere: it
-- is shown once, and the collector knows it by its signature and its id.
create table trace_tokens (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- the claim `jti`, by which the collector revokes it
  token_id uuid not null unique,
  name text not null check (length(name) between 1 and 100),
  scope text not null check (scope in ('traces:write', 'traces:read')),
  created_by int references users on delete set null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null check (expires_at > created_at),
  revoked_at timestamptz,
  revoked_by int references users on delete set null,
  check (revoked_at is not null or revoked_by is null)
);

create index trace_tokens_organization on trace_tokens (organization_id, created_at);
