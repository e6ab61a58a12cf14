import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { places } from './places.ts'

/** Settings with which buildah keeps its images below the cache and asks no registry. */
export function buildahEnv(): Readonly<Record<string, string>> {
  const storage = join(places.images, 'storage.conf')
  const containers = join(places.images, 'containers.conf')
  const [graph, run] = [join(places.images, 'storage'), join(places.images, 'storage-run')]
  writeFileSync(
    storage,
    `[storage]\ndriver = "overlay"\ngraphroot = "${graph}"\nrunroot = "${run}"\n`,
  )
  writeFileSync(containers, '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n')
  return {
    CONTAINERS_STORAGE_CONF: storage,
    CONTAINERS_CONF: containers,
    BUILDAH_ISOLATION: 'chroot',
    BUILDAH_FORMAT: 'docker',
  }
}
