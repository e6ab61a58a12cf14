-- The same file again is the same file, and counts as sent when it was sent last.
create unique index input_files_content on input_files (deployment_id, sha256, name, media_type);
