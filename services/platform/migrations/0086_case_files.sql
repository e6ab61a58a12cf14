-- The files that cases name: they are kept as long as a case or a run does. Programs of the release
-- before delete one that no run names; a case without its file cannot be performed, and says so.

set local lock_timeout = '2s';

create table case_files (
  case_id uuid not null references cases on delete cascade,
  file_id uuid not null references input_files on delete cascade,
  primary key (case_id, file_id)
);

create index case_files_of_file on case_files (file_id);
