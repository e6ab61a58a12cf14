-- Whether a head of the receipts lies in the bucket of the backups, where a job writes it. Another
-- head of its size that was found there shows that the log was forked, or restored from a backup.
alter table receipt_heads
  add column copied_at timestamptz,
  add column fork_found_at timestamptz;
