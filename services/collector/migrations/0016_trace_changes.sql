-- Which traces the leader of the roll-ups has brought up to date, for those who follow them. One
-- leader at a time writes here, each turn in one transaction, so the order of the numbers is that
-- of the commits: whoever has read up to one of them misses nothing. The oldest are deleted.
create table trace_changes (
  revision int8 generated always as identity primary key,
  organization text not null,
  trace_id uuid not null
);

select protect_by_organization('trace_changes');
