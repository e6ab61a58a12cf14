import { CACHE_TAG } from './image-names.ts'
import type { ImageRepository } from './registry-client.ts'

/**
 * Deletes the images of an automation except these; the cache of its builds stays with them.
 * Returns how many it deleted.
 */
export async function keepImages(
  { tags, find, remove }: ImageRepository,
  images: readonly string[],
): Promise<number> {
  const digests = new Set(images.map((image) => image.slice(image.indexOf('@') + 1)))
  let count = 0
  for (const tag of await tags()) {
    if (tag === CACHE_TAG && digests.size > 0) continue
    const image = await find(tag)
    // The same source makes the same image again, and a rollback takes an earlier one.
    if (!image || digests.has(image.digest)) continue
    await remove(image.digest)
    count += 1
  }
  return count
}
