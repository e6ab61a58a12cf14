import type { Hono } from 'hono'
import { html } from 'hono/html'
import { listVersions } from '../../../platform/projects/project-versions.ts'
import type { Version, VersionSummary } from '../../../platform/projects/project-versions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createRoom } from '../frame/room.ts'
import { page as frame } from '../frame/layout.ts'
import { emptyState } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { diffCounts, diffView } from '../frame/text/diff-view.ts'
import { diffLines } from '../frame/text/line-diff.ts'
import { findNamedVersion, getOwnProject, projectPath } from './own-project.ts'

const CHOICES_MAX = 100
const NUMBER_MAX = 2 ** 31 - 1

/** Serves the difference of two versions of a project: the newest two, unless others are named. */
export function compareRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)

  room.page('viewer', '/projects/:projectId/compare', async (c) => {
    const project = await getOwnProject(c, sql)
    const { organizationId } = c.var.session.user
    const key = { organizationId, projectId: project.id }
    const owner = { organizationId, project }
    const page = { before: NUMBER_MAX, limit: CHOICES_MAX }
    const versions = await listVersions(sql, key, page)
    const to = (await findNamedVersion(sql, owner, c.req.query('to'))) ?? versions[0]
    const before = versions.find(({ number }) => to && number < to.number)
    const from = (await findNamedVersion(sql, owner, c.req.query('from'))) ?? before ?? to
    if (!from || !to) throw new AppError('not_found', 'This project has no versions to compare.')
    return c.html(comparePage({ session: c.var.session, project, versions, from, to }))
  })

  return room.routes
}

/** Two versions of a project. */
interface ComparePage {
  readonly session: Session
  readonly project: Project
  /** The newest ones, to choose from. */
  readonly versions: readonly VersionSummary[]
  readonly from: Version
  readonly to: Version
}

/** What one version of a project changes in another one. */
function comparePage({ session, project, versions, from, to }: ComparePage): Html {
  const path = projectPath(project)
  const lines = diffLines(definitionText(from.definition), definitionText(to.definition))
  const isSame = lines.every(({ kind }) => kind === 'same')
  const numbers = [...new Set([...versions.map(({ number }) => number), from.number, to.number])]
  const choice = (name: string, label: string, chosen: number): Html =>
    html`<label
      >${label}
      <select name="${name}">
        ${numbers
          .toSorted((a, b) => b - a)
          .map(
            (each) =>
              html`<option value="${each}" ${each === chosen ? html`selected` : ''}>
                Version ${each}
              </option>`,
          )}
      </select>
    </label>`
  return frame(
    { title: 'Compare versions', session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a><a href="${path}">${project.name}</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Compare versions</h1>
          <p class="hint">${isSame ? 'No difference' : diffCounts(lines)}</p>
        </div>
      </div>
      <form class="card list-filter" aria-label="Versions" action="${path}/compare">
        <div class="row">
          ${choice('from', 'From', from.number)} ${choice('to', 'To', to.number)}
          <button class="button primary">Compare</button>
        </div>
      </form>
      <section class="card" aria-label="Difference">
        ${
          isSame
            ? emptyState('check', 'They are the same', 'Choose two other versions above.')
            : diffView(lines, `What version ${to.number} changes in version ${from.number}`)
        }
      </section>`,
  )
}
