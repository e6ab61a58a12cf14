-- Traces that a legal hold keeps: neither deleted nor dropped with their day. The platform says
-- which.
create table held_traces (
  hold_id uuid not null,
  organization text not null,
  trace_id uuid not null,
  primary key (organization, trace_id, hold_id)
);

create index held_traces_of_hold on held_traces (hold_id);

select protect_by_organization('held_traces');
