-- How large this database was on each day, from which the report reads its growth.
create table database_sizes (
  day date primary key,
  bytes bigint not null
);
