import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { baseFingerprint } from './base-images.ts'
import { command } from './command.ts'
import { unlessDone } from './fingerprint.ts'
import { loadImages } from './images.ts'
import { places, repository } from './places.ts'
import { words } from './words.ts'

const TAG = 'former'
const sources = join(places.state, 'former-release')

/** The release before this one: its chart, the bed's values for it, and those of its images. */
export const formerRelease = {
  chart: join(sources, 'dist/chart'),
  bedValues: join(sources, 'test/cluster/values.yaml'),
  values: join(sources, 'former-values.yaml'),
} as const

/**
 * Returns the commit before the newest migration of the main database, which stands for the release
 * before. Raises where the history is not there.
 */
async function findCommit(): Promise<string> {
  const git = (line: readonly string[]) => command(['git', ...line], { cwd: repository })
  const [last = ''] = (
    await git(
      words`log --no-renames --diff-filter=A --format=%H -n 1 -- services/platform/migrations`,
    )
  ).split('\n')
  return (await git(words`rev-parse --verify ${`${last}^`}`)).trim()
}

/** Builds the images of the release before and loads them into the node, with its chart beside. */
export async function loadFormerRelease(progress: (text: string) => void): Promise<void> {
  const commit = await findCommit()
  const record = join(places.state, 'former.imported-from')
  await unlessDone(record, `${commit} ${baseFingerprint('node')}`, async () => {
    progress(`building the images of ${commit.slice(0, 12)}, which stands for the release before`)
    await rm(sources, { recursive: true, force: true })
    await mkdir(sources, { recursive: true })
    const archive = join(places.state, 'former-release.tar')
    await command(words`git archive --output ${archive} ${commit}`, { cwd: repository })
    await command(words`tar -xf ${archive} -C ${sources}`)
    await rm(archive)
    await symlink(join(repository, 'node_modules'), join(sources, 'node_modules'))
    const tags = { image: { tag: TAG }, collector: { image: { tag: TAG } } }
    // JSON is YAML.
    await writeFile(formerRelease.values, JSON.stringify(tags))
    await loadImages(sources, words`--values ${formerRelease.values}`)
  })
}
