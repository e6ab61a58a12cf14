-- Who passes a call on calls workers that wait, and not all where none waits: for a notification
-- PostgreSQL wakes every process that listens to anything, and fifty workers without room passed on
-- each call that they had not heard in time. Of those who have room, none is missed: the run that
-- is passed on is committed, and a worker that enters itself looks again after that.

create function call_listeners() returns boolean language plpgsql as $$
begin
  perform pg_notify(channel, case place when 2 then 'second' else '' end) from (
    select channel, row_number() over () as place from (
      select channel from queue_listeners where seen_at > clock_timestamp() - interval '15 s'
      order by random() limit 2) chosen) called;
  return found;
end $$;

-- Here all are called where none is known: the run may be committed long after this, and one may
-- enter itself meanwhile.
create or replace function call_workers() returns void language plpgsql as $$
begin
  if not call_listeners() then
    notify execution_queued;
  end if;
end $$;

create or replace function leave_queue(listener text) returns void language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  delete from queue_listeners where channel = listener;
  perform call_listeners();
end $$;
