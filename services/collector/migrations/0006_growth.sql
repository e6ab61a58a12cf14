-- The time of the primary, written each second while a replica is read from: what of it has arrived
-- there says how far that replica is behind.
create table heartbeat (
  only_row bool primary key default true check (only_row),
  beat_at timestamptz not null
);
