const BATCH = 5000

/** The beginning of the oldest day; `infinity` without any. */
const OLDEST = `(
    select coalesce(min(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')), 'infinity')
      ::timestamp at time zone 'UTC'
    from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending
  )`

/** Finds one row while the roll-ups have something of days that were dropped. */
export const FIND_DROPPED = `
  select where exists (select from traces where first_start < ${OLDEST})
    or exists (select from usage_hourly where hour < ${OLDEST})`

/** Deletes some traces that had spans in dropped days only. */
export const DELETE_DROPPED_TRACES = `
  delete from traces where trace_id = any (array(
    select trace_id from traces where last_start < ${OLDEST} limit ${BATCH}
  ))`

/**
 * Deletes the sums of dropped days, together with what the traces that go on in a kept day have
 * added to them: what those have there is rolled up anew. Only once all other traces of dropped
 * days are gone: until then, a trace that is rolled up again takes away what is still there.
 */
export const DELETE_DROPPED_SUMS = `
  with oldest as (select ${OLDEST} as begins),
  shortened as (
    update traces set first_start = begins, usage = coalesce((
        select jsonb_agg(part) from jsonb_array_elements(usage) as part
        where (part->>'hour')::timestamptz >= begins
      ), '[]')
    from oldest where first_start < begins and last_start >= begins
    returning trace_id, begins
  ),
  noted as (
    insert into touched_traces (day, trace_ids)
    select (begins at time zone 'UTC')::date, string_agg(uuid_send(trace_id), '')
    from shortened group by 1
  )
  delete from usage_hourly where hour < (select begins from oldest)`
