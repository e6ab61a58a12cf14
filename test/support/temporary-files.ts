import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Whatever a test leaves among the temporary files goes when the run ends. */
export async function setup(): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'platform-test-'))
  // As root the database runs as another user, who has to pass through here.
  await chmod(directory, 0o755)
  process.env['TMPDIR'] = directory
  return () => rm(directory, { recursive: true, force: true })
}
