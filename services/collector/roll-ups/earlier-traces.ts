const BATCH = 4000

/**
 * Notes the next traces of a day whose spans were stored without notes, the latest day first. Where
 * it stands is stored with the notes, so it goes on there. Finds no row when there is no such day.
 */
export const NOTE_EARLIER_TRACES = `
  with next as materialized (
    select day, due_at, coalesce(after_trace, '00000000-0000-0000-0000-000000000000') as done
    from days_to_roll_up where due_at <= now() order by day desc, due_at limit 1
  ),
  found as materialized (
    select distinct trace_id from next cross join lateral (
      select trace_id from spans
      where start_time >= day::timestamp at time zone 'UTC'
        and start_time < (day + 1)::timestamp at time zone 'UTC' and trace_id > done
      order by trace_id limit ${BATCH}
    ) as span
  ),
  noted as (
    insert into touched_traces (day, trace_ids)
    select day, string_agg(uuid_send(trace_id), '') from next cross join found group by day
  ),
  moved as (
    update days_to_roll_up as stored set after_trace = (
      select trace_id from found order by trace_id desc limit 1
    )
    from next where stored.day = next.day and stored.due_at = next.due_at
      and exists (select from found)
  ),
  finished as (
    delete from days_to_roll_up as stored using next
    where stored.day = next.day and stored.due_at = next.due_at
      and not exists (select from found)
  )
  select from next`
