-- What designers do with projects beside writing their versions.

-- An archived project is listed apart, and takes no new version; its automations go on.
alter table projects add column archived_at timestamptz;

-- What is new in a version, as whoever publishes it says.
alter table project_versions add column note text check (length(note) between 1 and 1000);

-- Filters of the list of runs that are kept under a name: for one person, or for all members.
create table run_filters (
  id int generated always as identity primary key,
  organization_id int not null references organizations,
  -- whoever made it
  user_id int not null references users on delete cascade,
  is_shared boolean not null default false,
  name text not null check (length(name) between 1 and 80),
  -- the query of the address, as the list writes it
  query text not null check (octet_length(query) <= 4096),
  created_at timestamptz not null default now()
);

create unique index run_filters_of_person on run_filters (organization_id, user_id, name)
  where not is_shared;
create unique index run_filters_shared on run_filters (organization_id, name) where is_shared;
