import type { Queryable } from '../../shared/postgres/database.ts'
import type { OwnCrewKey } from './crew-settings.ts'

/** The deployments of an automation, counted from the newest, whose images are kept. */
export const IMAGES_KEPT = 5

/** A part of an image, which others may share. */
export interface ImageLayer {
  readonly digest: string
  /** In bytes. */
  readonly size: number
}

/**
 * Forgets the images that no deployment of an automation goes back to, and returns those that stay:
 * of the deployments that go on, and of the last `IMAGES_KEPT`.
 */
export async function keepImages(sql: Queryable, { deploymentId }: OwnCrewKey): Promise<string[]> {
  const rows = await sql<{ image: string; isKept: boolean }[]>`
    with judged as (
      select c.id, c.image,
        c.ended_at is null or c.number > s.last_number - ${IMAGES_KEPT} as is_kept
      from crew_deployments c join crew_settings s on s.deployment_id = c.deployment_id
      where c.deployment_id = ${deploymentId} and c.image is not null),
    forgotten as (
      update crew_deployments c set image = null, image_layers = null
      from judged j where j.id = c.id and not j.is_kept)
    select image, is_kept from judged`
  return rows.filter(({ isKept }) => isKept).map(({ image }) => image)
}

/** Remembers that images were deleted from the registry. */
export async function noteGarbage(sql: Queryable): Promise<void> {
  await sql`update registry_upkeep set garbage_since = coalesce(garbage_since, now())`
}

/**
 * Returns true when the registry is to free the room of deleted images now: once a day at most, and
 * never while a crew is built. It is this caller's to do then.
 */
export async function takeGarbage(sql: Queryable): Promise<boolean> {
  const { count } = await sql`
    update registry_upkeep set garbage_since = null, collected_at = now()
    where garbage_since is not null
      and coalesce(collected_at, '-infinity') < now() - interval '1 day'
      and not exists (
        select from crew_deployments where state = 'Building' and ended_at is null)`
  return count > 0
}
