import type { Context, Hono } from 'hono'
import { endRelease, findRelease, releaseVersion } from '../../../platform/projects/releases.ts'
import type { Share } from '../../../platform/projects/releases.ts'
import { AppError } from '../../../shared/errors.ts'
import { releaseEndedEntry, releaseEntry } from '../../gate/callers/audit-entries.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createRoom } from '../frame/room.ts'
import type { Undo } from '../frame/undo.ts'
import { getOwnProject, getOwnVersion, projectPath, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import { readRollback } from './rollback-section.ts'

/** Gives published versions their share of the calls. */
export function releaseRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps, {
    'version-released': 'It is released. What takes the calls from now on is said here.',
    'release-ended': 'The share is taken back. One version takes all calls again.',
  })

  room.action('editor', '/projects/:projectId/versions/:number/release', {
    find: async (c) => {
      const own = await getOwnVersion(c, sql)
      const { running } = await findRelease(sql, own.key)
      return { ...own, share: readShare(c), former: running }
    },
    change: (tx, { key, share }) => releaseVersion(tx, key, share),
    entry: ({ key, share }) => releaseEntry(key, share),
    done: ({ project, key, former }) => [
      versionPath(project, key.number),
      withFormer('version-released', former),
    ],
  })

  room.action('editor', '/projects/:projectId/release/end', {
    find: async (c) => {
      const project = await getOwnProject(c, sql)
      const { organizationId } = c.var.session.user
      return { project, key: { organizationId, projectId: project.id } }
    },
    change: (tx, { key }) => endRelease(tx, key),
    entry: ({ key }) => releaseEndedEntry(key),
    done: ({ project }) => [projectPath(project), 'release-ended'],
  })

  return room.routes
}

/** Adds the version that ran before to what a page is told of, for the way back. */
export const withFormer = (notice: string, former: number | null): string =>
  former === null ? notice : `${notice}&former=${former}`

/** Returns the form that gives all calls back to the version that ran before. */
export function undoRelease(
  c: Context<SignedIn>,
  { project, version }: OwnVersion,
): Undo | undefined {
  const former = c.req.query('former') ?? ''
  if (!/^[1-9]\d{0,9}$/.test(former) || former === String(version.number)) return undefined
  return { action: `${versionPath(project, Number(former))}/release` }
}

/** Reads the share of a form. Raises `unprocessable`. */
export function readShare({ var: { form } }: Context<SignedIn>): Share {
  const text = form.get('percent') ?? '100'
  const percent = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (percent < 1 || percent > 100) {
    throw new AppError('unprocessable', 'The calls that it takes are a number from 1 to 100.')
  }
  return { percent, stickyInput: form.get('sticky_input') || null, rollback: readRollback(form) }
}
