-- People are members of organizations, each in a role there, and may be members of several.

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

-- Whoever belonged to an organization could do everything in it, and still can.
insert into memberships (user_id, organization_id, role)
  select id, organization_id, 'admin' from users;

-- From now on the organization that a person was in last, where the next session begins.
alter table users
  alter column organization_id drop not null,
  drop constraint users_organization_id_fkey,
  add foreign key (organization_id) references organizations on delete set null;

delete from user_roles where role = 'member';
alter table user_roles
  drop constraint user_roles_role_check,
  add check (role = 'platform-admin');

alter table sessions
  add column id uuid not null default gen_random_uuid() unique,
  add column organization_id int references organizations on delete set null,
  -- where it began, as people recognize it
  add column client_address text check (length(client_address) <= 64),
  add column user_agent text check (length(user_agent) <= 300);

update sessions s set organization_id = u.organization_id from users u where u.id = s.user_id;
