-- Rows of batches that name files.

set local lock_timeout = '2s';

-- A file is kept while a row that names it waits; then its run keeps it.
create table batch_row_files (
  batch_id uuid not null,
  position int not null,
  file_id uuid not null references input_files,
  primary key (batch_id, position, file_id),
  foreign key (batch_id, position) references batch_rows on delete cascade
);

create index batch_row_files_of_file on batch_row_files (file_id);
