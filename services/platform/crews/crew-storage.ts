import { AppError } from '../../shared/errors.ts'
import type { Queryable } from '../../shared/postgres/database.ts'

/** The bytes that sources and images of an organization may take where the operator sets none. */
export const CREW_STORAGE_BYTES = 10 * 2 ** 30

/** What the crews of an organization take, in bytes. */
export interface CrewStorage {
  readonly sourceBytes: number
  /** Compressed, and what images share counted once. */
  readonly imageBytes: number
}

/** Counts what is kept of an organization's sources and images. */
export async function countCrewStorage(
  sql: Queryable,
  organizationId: number,
): Promise<CrewStorage> {
  const [counted] = await sql<[CrewStorage]>`
    select
      (select coalesce(sum(size), 0)::float8 from sources
        where organization_id = ${organizationId} and files_deleted_at is null) as source_bytes,
      (select coalesce(sum(size), 0)::float8 from (
        select distinct l.digest, l.size
        from crew_deployments c
          cross join lateral jsonb_to_recordset(c.image_layers) as l(digest text, size float8)
        where c.organization_id = ${organizationId} and c.image is not null) layers) as image_bytes`
  return counted
}

interface StorageQuota {
  readonly organizationId: number
  /** @default CREW_STORAGE_BYTES */
  readonly quotaBytes?: number | undefined
}

/** Raises `conflict` when an organization has no room for so many bytes more. */
export async function requireStorage(
  sql: Queryable,
  { organizationId, quotaBytes = CREW_STORAGE_BYTES }: StorageQuota,
  size: number,
): Promise<void> {
  const { sourceBytes, imageBytes } = await countCrewStorage(sql, organizationId)
  if (sourceBytes + imageBytes + size <= quotaBytes) return
  throw new AppError(
    'conflict',
    `The sources of your organization have ${sourceBytes} bytes, its images ${imageBytes}, and ` +
      `together they may have ${quotaBytes}: there is no room for ${size} more. Delete ` +
      'automations that are no longer used, or ask the operator for more.',
    {
      details: {
        source_bytes: sourceBytes,
        image_bytes: imageBytes,
        max_bytes: quotaBytes,
      },
    },
  )
}
