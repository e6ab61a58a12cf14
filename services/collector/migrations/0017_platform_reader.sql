-- As in 0006. An empty setting is what a transaction leaves behind, and stands for none; U+0001,
-- which no name of an organization may have, stands for the platform itself, whose rows have ''.
create or replace function reading_organization() returns text language sql stable parallel safe
as $$
  select case setting when '' then null when U&'\0001' then '' else setting end
  from (select current_setting('collector.organization', true) as setting) as given
$$;
