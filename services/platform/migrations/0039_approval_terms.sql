-- What counts as the decision of a person who does not decide in time, as the task says.
alter table run_approvals add column undecided text not null default 'reject'
  check (undecided in ('approve', 'reject'));
