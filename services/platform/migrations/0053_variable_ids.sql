-- Programs and files address a variable by a number: its name is unique within one automation only.
alter table crew_variables add column id int generated always as identity;
