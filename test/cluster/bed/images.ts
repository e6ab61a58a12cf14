import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { archiveOf, baseFingerprint, baseImages, buildBaseImage } from './base-images.ts'
import { command } from './command.ts'
import { fingerprintOf, isDone, unlessDone } from './fingerprint.ts'
import { ctr } from './node.ts'
import { places, repository } from './places.ts'
import { buildahEnv } from './storage.ts'
import { words } from './words.ts'

const SOURCES = [
  'Dockerfile',
  '.dockerignore',
  'package.json',
  'package-lock.json',
  'patches',
  'python',
  'scripts',
  'services',
]
const recordOf = (name: string): string => join(places.images, `${name}.built-from`)
const importRecordOf = (name: string): string => join(places.state, `${name}.imported-from`)

/** The base images that have yet to be built. */
export const missingImages = (): string[] =>
  baseImages()
    .filter(({ name }) => !isDone(recordOf(name), baseFingerprint(name)))
    .map(({ name }) => name)

/** Builds the images that come from registries elsewhere; nothing when they are there. */
export async function buildBaseImages(progress: (text: string) => void): Promise<void> {
  const missing = new Set(missingImages())
  for (const image of baseImages()) {
    if (!missing.has(image.name)) continue
    progress(`building the image ${image.reference}`)
    await unlessDone(recordOf(image.name), baseFingerprint(image.name), () => buildBaseImage(image))
  }
}

/** Loads the base images into the node. */
export async function importBaseImages(): Promise<void> {
  for (const { name } of baseImages()) {
    if (!existsSync(archiveOf(name)) || name === 'debian') continue
    await unlessDone(importRecordOf(name), baseFingerprint(name), async () => {
      await command(ctr('images', 'import', archiveOf(name)), { timeoutMs: 5 * 60_000 })
    })
  }
}

/**
 * Builds the project's own images as `npm run images` does and loads them into the node, when the
 * sources changed.
 */
export async function loadOwnImages(progress: (text: string) => void): Promise<void> {
  const fingerprint = fingerprintOf(repository, SOURCES, [baseFingerprint('node')])
  await unlessDone(join(places.state, 'own.imported-from'), fingerprint, async () => {
    progress('building the images of the platform and of the collector with the Dockerfile')
    await loadImages(repository)
  })
}

/** Builds the images of a checkout as `npm run images` does, and loads them into the node. */
export async function loadImages(sources: string, options: readonly string[] = []): Promise<void> {
  await command(
    words`npm run images -- --builder buildah --load containerd ${options}
      -- --pull-never --network=host`,
    {
      cwd: sources,
      env: { ...buildahEnv(), CONTAINERD_ADDRESS: places.containerdSocket },
      timeoutMs: 20 * 60_000,
      log: join(places.images, 'own.log'),
    },
  )
}
