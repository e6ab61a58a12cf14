import type { Hono } from 'hono'
import {
  archiveProject,
  createProject,
  deleteProject,
  projectNameProblem,
  renameProject,
} from '../../../platform/projects/projects.ts'
import type { Project, VersionKey } from '../../../platform/projects/projects.ts'
import { createVersion, findVersion } from '../../../platform/projects/project-versions.ts'
import type { AuditEntry } from '../../../platform/audit/audit.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Transaction } from '../../../shared/postgres/database.ts'
import { projectEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { confirmPage } from '../frame/confirm-page.ts'
import { managePage } from './manage-page.ts'
import { getOwnProject, projectPath } from './own-project.ts'
import { createRoom } from '../frame/room.ts'

const ONE = '/projects/:projectId'

/** Renames, duplicates, archives and deletes projects. */
export function manageRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'project-renamed': 'The project is renamed.',
    'project-duplicated': 'This is the copy. Its draft is the newest version of the other project.',
  })

  room.page('viewer', `${ONE}/manage`, async (c) =>
    c.html(managePage({ session: c.var.session, project: await getOwnProject(c, sql) })),
  )

  room.form('editor', `${ONE}/rename`, async (c) => {
    const project = await getOwnProject(c, sql)
    const name = (c.var.form.get('name') ?? '').trim()
    const view = { session: c.var.session, project, renamed: name }
    const wrong = projectNameProblem(name)
    if (wrong !== undefined) {
      return c.html(managePage({ ...view, problem: `The name ${wrong}.` }), 422)
    }
    const entry = { ...entryOf('project_renamed', project), after: { name } }
    return change(
      () => audited(c.var, (tx) => renameProject(tx, keyOf(c.var, project), name), entry),
      () => {
        const former = encodeURIComponent(project.name)
        return c.redirect(`${projectPath(project)}?notice=project-renamed&former=${former}`, 303)
      },
      (problem) => c.html(managePage({ ...view, problem }), 409),
    )
  })

  room.form('editor', `${ONE}/duplicate`, async (c) => {
    const project = await getOwnProject(c, sql)
    const name = (c.var.form.get('name') ?? '').trim()
    const view = { session: c.var.session, project, copied: name }
    const wrong = projectNameProblem(name)
    if (wrong !== undefined) {
      return c.html(managePage({ ...view, copyProblem: `The name ${wrong}.` }), 422)
    }
    const copy = (tx: Transaction) =>
      duplicate(tx, { ...keyOf(c.var, project), number: project.lastVersion }, name)
    return change(
      () => audited(c.var, copy, projectEntry),
      (made) => c.redirect(`${projectPath(made)}?notice=project-duplicated`, 303),
      (copyProblem) => c.html(managePage({ ...view, copyProblem }), 409),
    )
  })

  room.routes.route('/', archiveRoutes(deps))
  room.routes.route('/', deleteRoutes(deps))
  return room.routes
}

function archiveRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'project-archived': 'The project is archived.',
    'project-unarchived': 'The project is no longer archived.',
  })

  for (const [verb, isArchived] of [
    ['archive', true],
    ['unarchive', false],
  ] as const) {
    room.form('editor', `${ONE}/${verb}`, async (c) => {
      const project = await getOwnProject(c, sql)
      await audited(
        c.var,
        (tx) => archiveProject(tx, keyOf(c.var, project), isArchived),
        (isDone) => (isDone ? entryOf(`project_${verb}d`, project) : undefined),
      )
      return c.redirect(`${projectPath(project)}?notice=project-${verb}d`, 303)
    })
  }

  return room.routes
}

function deleteRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'project-deleted': 'The project is deleted.',
  })

  room.page('editor', `${ONE}/delete`, async (c) => {
    const project = await getOwnProject(c, sql)
    const path = projectPath(project)
    const page = {
      current: '/projects',
      crumbs: [
        { path: '/projects', name: 'Projects' },
        { path, name: project.name },
      ],
      question: `Delete ${project.name}?`,
      consequence:
        'Its versions and what the Assistant proposed are deleted. This cannot be undone.',
      action: `${path}/delete`,
      verb: 'Delete the project',
      back: `${path}/manage`,
    }
    return c.html(confirmPage({ session: c.var.session, ...page }))
  })

  room.form('editor', `${ONE}/delete`, async (c) => {
    const project = await getOwnProject(c, sql)
    const view = { session: c.var.session, project }
    return change(
      () =>
        audited(
          c.var,
          (tx) => deleteProject(tx, keyOf(c.var, project)),
          entryOf('project_deleted', project),
        ),
      () => c.redirect('/projects?notice=project-deleted', 303),
      (deleteProblem) => c.html(managePage({ ...view, deleteProblem }), 409),
    )
  })

  return room.routes
}

const keyOf = ({ session }: Pick<SignedIn['Variables'], 'session'>, { id }: Project) => ({
  organizationId: session.user.organizationId,
  projectId: id,
})

const entryOf = (action: string, { id, name }: Project): AuditEntry => ({
  action,
  target: { kind: 'project', id, name },
})

/** Makes a change, and answers with the page again when it conflicts with what there is. */
async function change<Result>(
  make: () => Promise<Result>,
  done: (result: Result) => Response,
  refuse: (problem: string) => Response | Promise<Response>,
): Promise<Response> {
  try {
    return done(await make())
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'conflict') return refuse(thrown.message)
    throw thrown
  }
}

/** Creates a project with the newest version of another one as its first draft. */
async function duplicate(tx: Transaction, newest: VersionKey, name: string): Promise<Project> {
  const { organizationId } = newest
  const version = await findVersion(tx, newest)
  const made = await createProject(tx, { organizationId, name })
  if (!version) return made
  await createVersion(tx, { organizationId, projectId: made.id }, version.definition)
  return made
}
