-- What identifies a span. `start_time` still leads, and `organization` comes last, where it costs
-- least: it decides only between spans whose ids and start are equal.
create unique index spans_identity on spans (start_time, trace_id, span_id, organization);
