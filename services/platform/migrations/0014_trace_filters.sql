-- Filters of the list of traces that a person keeps under a name, for one organization.

create table trace_filters (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  user_id int not null references users on delete cascade,
  name text not null check (length(name) between 1 and 80),
  -- the query of the address, as the list writes it
  query text not null check (octet_length(query) <= 8192),
  created_at timestamptz not null default now(),
  unique (user_id, organization_id, name)
);
