const TRACES_A_NOTE = 250

/**
 * Notes traces whose texts may have to be read, where texts are searched: their organizations, ids,
 * and the first and last day of their touched spans, as `rollUpStatement` takes them.
 */
export const noteTexts = (touched: string): string => `
  insert into traces_to_extract (organization, day, trace_ids)
  select organization, day, string_agg(uuid_send(trace_id), '')
  from (
    select organization, day::date as day, trace_id,
      row_number() over (partition by organization, day order by trace_id) / ${TRACES_A_NOTE}
        as part
    from (select ${touched}) as given (organizations, trace_ids, first_days, last_days),
      unnest(organizations::text[], trace_ids::uuid[], first_days::date[], last_days::date[])
        as noted (organization, trace_id, first_day, last_day),
      generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as day
    where (select state from text_search) = 'on'
  ) as parts
  group by organization, day, part`
