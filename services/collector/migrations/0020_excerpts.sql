-- What lists show of the conversation of a trace, from the texts that are searched: the question
-- and the answer lie in one text, and these say where. Texts of an earlier version do not tell.
-- First the index, whose lock lets readers pass; the rest takes no time.
create index span_texts_in_order on span_texts (trace_id, start_time);
drop index span_texts_trace;

alter table span_texts
  -- where the last message of the input begins, in units of UTF-16; null without one
  add column asked_at int2,
  -- where the output begins; null without one
  add column answered_at int2;

create or replace view searched_texts as
select * from span_texts
where start_time >= now() - (select weeks * interval '1 week' from retention)
  and ((select reading_organization()) is null
    or organization = (select reading_organization()));
