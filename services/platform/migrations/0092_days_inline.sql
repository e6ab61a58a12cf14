-- Without `strict` both are a part of the statement that calls them, instead of one of their own,
-- which was planned anew for each that records a step.

create or replace function run_day(id uuid) returns date language sql immutable as $$
  select case when id < '00000001-0000-0000-0000-000000000000'
    then date '1970-01-01'
      + ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint::int end
$$;

create or replace function content_day(run_id uuid) returns date language sql immutable as $$
  select coalesce(run_day(run_id), date '1970-01-01')
$$;
