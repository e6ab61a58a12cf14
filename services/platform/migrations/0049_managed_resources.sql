-- Rows that files keep, of whatever kind they are, and the name of what applies the files. No
-- foreign keys to the rows: there are many kinds. A mark that outlives its row is shown nowhere,
-- and ends when its files are applied next.
create table managed_resources (
  organization_id int not null references organizations on delete cascade,
  kind text not null,
  resource_id text not null,
  managed_by text not null,
  primary key (organization_id, kind, resource_id)
);
