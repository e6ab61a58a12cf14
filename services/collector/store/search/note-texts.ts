/** A note is taken as a whole. */
export const TRACES_A_NOTE = 250

/** Kinds of operations that have texts. */
export const HAS_TEXTS_KINDS: readonly string[] = ['llm', 'tool', 'agent']

/** Spans with texts; what a trace was asked and answered is often in its root alone. */
export const HAS_TEXTS = `(
  operation_kind in (${HAS_TEXTS_KINDS.map((kind) => `'${kind}'`).join(', ')})
  or parent_span_id is null and operation_kind is not null
)`

/**
 * Notes traces whose texts may have to be read, where texts are searched: those of `touched` with
 * texts by `grouped`, and those that were known before, whose texts may be gone.
 */
export const NOTE_TEXTS = `
  insert into traces_to_extract (organization, day, trace_ids)
  select organization, day, string_agg(uuid_send(trace_id), '')
  from (
    select touched.organization, day::date as day, touched.trace_id,
      row_number() over (partition by touched.organization, day) / ${TRACES_A_NOTE} as part
    from touched left join grouped using (nr),
      generate_series(first_day::timestamp, last_day::timestamp, interval '1 day') as day
    where (has_texts or place_before is not null) and (select state from text_search) = 'on'
  ) as parts
  group by organization, day, part`
