/** Spans that are looked at in one turn. */
export const EARLIER_BATCH = 4000

const OF_THE_DAY = `start_time >= day::timestamp at time zone 'UTC'
        and start_time < (day + 1)::timestamp at time zone 'UTC'`

/** Finds one row while there is such a day: far cheaper than a look at its spans. */
export const FIND_EARLIER_DAY = 'select from days_to_roll_up where due_at <= now() limit 1'

/**
 * Notes the next traces of a day whose spans were stored without notes, the latest day first. Where
 * it stands is stored with the notes, so it goes on there. Finds no row when there is no such day.
 */
export const noteEarlierTraces = (spans: string): string => `
  with next as materialized (
    select day, due_at, coalesce(after_trace, '00000000-0000-0000-0000-000000000000') as done
    from days_to_roll_up where due_at <= now() order by day desc, due_at limit 1
  ),
  looked_at as materialized (
    select span.* from next cross join lateral (
      select trace_id, organization from ${spans}
      where ${OF_THE_DAY} and trace_id > done
      order by trace_id limit ${EARLIER_BATCH}
    ) as span
  ),
  last as materialized (
    select trace_id from looked_at order by trace_id desc limit 1
  ),
  -- the limit may have cut off some of the last one's organizations
  found as materialized (
    select trace_id, organization from looked_at
    union
    select trace_id, organization from next cross join last cross join lateral (
      select organization from ${spans} as span
      where ${OF_THE_DAY} and span.trace_id = last.trace_id
    ) as span
  ),
  noted as (
    insert into touched_traces (organization, day, trace_ids)
    select organization, day, string_agg(uuid_send(trace_id), '')
    from next cross join found group by organization, day
  ),
  moved as (
    update days_to_roll_up as stored set after_trace = last.trace_id
    from next, last where stored.day = next.day and stored.due_at = next.due_at
  ),
  finished as (
    delete from days_to_roll_up as stored using next
    where stored.day = next.day and stored.due_at = next.due_at
      and not exists (select from last)
  )
  select from next`
