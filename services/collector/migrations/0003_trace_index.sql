-- For lists of traces: one entry per trace, not per span, so that ingest hardly notices. `start_time, trace_id` is the
-- order of a list, and the place in it where its next page begins.
create index spans_roots on spans (start_time, trace_id)
where parent_span_id is null;

create index spans_failed_roots on spans (start_time, trace_id)
where parent_span_id is null and status = 2;

create index spans_crew_roots on spans (crew_id, start_time, trace_id)
where parent_span_id is null and crew_id is not null;

create index spans_kickoff_roots on spans (kickoff_id, start_time, trace_id)
where parent_span_id is null and kickoff_id is not null;
