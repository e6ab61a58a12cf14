const BATCH = 5000

/** The oldest day there is; `infinity` without any. */
const OLDEST_DAY = `(
    select coalesce(min(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')), 'infinity')
    from pg_inherits where inhparent = 'spans'::regclass and not inhdetachpending
  )`

/** Finds one row when days were dropped, or late spans made an older one. */
export const FIND_CHANGED_DAYS = `
  select from oldest_rolled_up where day <> ${OLDEST_DAY}`

const OLDEST = `${OLDEST_DAY}::timestamp at time zone 'UTC'`

/**
 * Deletes some traces that had spans in dropped days only. None of these starts later than its last
 * span, which leads to them by an index.
 */
export const DELETE_DROPPED_TRACES = `
  with oldest as materialized (select ${OLDEST} as begins)
  delete from traces where (organization, trace_id) in (
    select organization, trace_id from traces, oldest
    where start_time < begins and last_start < begins limit ${BATCH}
  )`

/**
 * Deletes the sums of dropped days, together with what the traces that go on in a kept day have
 * added to them: what those have there is rolled up anew. Only once all other traces of dropped
 * days are gone: until then, a trace that is rolled up again takes away what is still there.
 */
export const DELETE_DROPPED_SUMS = `
  with oldest as materialized (select ${OLDEST_DAY} as day, ${OLDEST} as begins),
  shortened as (
    update traces set first_start = begins, usage = array(
        select part from unnest(usage) as part where part.hour >= begins
      )
    from oldest where first_start < begins and last_start >= begins
    returning organization, trace_id, day
  ),
  noted as (
    insert into touched_traces (organization, day, trace_ids)
    select organization, day, string_agg(uuid_send(trace_id), '') from shortened group by 1, 2
  ),
  forgotten as (
    delete from usage_hourly where hour < (select begins from oldest)
  ),
  forgotten_sums as (
    delete from traces_daily where day < (select day from oldest)
  ),
  forgotten_days as (
    delete from trace_days where day < (select day from oldest)
  )
  update oldest_rolled_up set day = oldest.day from oldest`
