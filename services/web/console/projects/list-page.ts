import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { ago, csrfField, emptyState, listTable, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { projectPath } from './own-project.ts'

/** One page of the list of projects. */
interface ProjectsPage {
  readonly session: Session
  readonly page: Page<Project>
  readonly request: PageRequest
  /** Those that are archived, in place of the others. */
  readonly isArchived: boolean
  readonly notice?: string | undefined
  /** The name of a project that was refused, and why. */
  readonly typed?: string
  readonly problem?: string
}

/** The projects of an organization, and the form of a new one. */
export function projectsPage(view: ProjectsPage): Html {
  const { session, page, request, isArchived, notice } = view
  const filter: Record<string, string> = isArchived ? { state: 'archived' } : {}
  const list = { path: '/projects', noun: 'project', page, request, filter }
  return frame(
    { title: 'Projects', session, current: '/projects' },
    html`<div class="page-head">
        <div>
          <h1>Projects</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)} ${states(isArchived)}
      <section class="card flush" aria-label="Projects">
        ${page.items.length > 0 ? table(page.items) : noRows(list)}
      </section>
      ${pager(list)} ${isArchived ? '' : newProject(view)}`,
  )
}

const states = (isArchived: boolean): Html =>
  html`<nav class="filter" aria-label="State">
    <a href="/projects" ${isArchived ? '' : html`aria-current="page"`}>Active</a>
    <a href="/projects?state=archived" ${isArchived ? html`aria-current="page"` : ''}>Archived</a>
  </nav>`

const noRows = (list: PagedList): Html => (isEmpty(list) ? nothingYet() : nothingHere(list))

const nothingYet = (): Html =>
  emptyState(
    'pen',
    'No projects yet',
    'A project is a crew that you design, in versions. Begin with a name.',
  )

const table = (projects: readonly Project[]): Html =>
  listTable(
    'Projects',
    ['Name', 'Published', 'Newest', 'Created'],
    projects.map(
      (project) =>
        html`<tr>
          <td class="lead">
            <a class="break" href="${projectPath(project)}">${project.name}</a>
          </td>
          <td data-label="Published">${versionName(project.publishedVersion)}</td>
          <td data-label="Newest" class="quiet">${versionName(project.lastVersion || null)}</td>
          <td data-label="Created" class="quiet wide">${ago(project.createdAt)}</td>
        </tr>`,
    ),
  )

const versionName = (number: number | null): string =>
  number === null ? 'None' : `Version ${number}`

const newProject = ({ session, typed = '', problem }: ProjectsPage): Html =>
  html`<section class="card narrow" aria-labelledby="new">
    <div class="card-head"><h2 id="new">New project</h2></div>
    ${problemBox(problem)}
    <form method="post" action="/projects" class="stack">
      ${csrfField(session.csrfToken)}
      <label
        >Name
        <input name="name" value="${typed}" maxlength="200" autocomplete="off" required />
      </label>
      <div class="buttons">
        <button class="button primary">Create</button>
        <a class="button" href="/import-project">Import a CrewAI project</a>
      </div>
    </form>
  </section>`
