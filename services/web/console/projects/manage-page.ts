import { html } from 'hono/html'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { page as frame } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { projectPath } from './own-project.ts'

/** A project, with what was typed and refused. */
interface ManagePage {
  readonly session: Session
  readonly project: Project
  readonly renamed?: string
  readonly problem?: string
  readonly copied?: string
  readonly copyProblem?: string
  readonly deleteProblem?: string
}

/** The page on which a project is renamed, duplicated, archived and deleted. */
export function managePage(view: ManagePage): Html {
  const { session, project } = view
  const path = projectPath(project)
  return frame(
    { title: `Manage ${project.name}`, session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a><a href="${path}">${project.name}</a>
      </nav>
      <div class="page-head"><h1>Manage</h1></div>
      <section class="card narrow" aria-labelledby="rename">
        <div class="card-head"><h2 id="rename">Rename</h2></div>
        ${problemBox(view.problem)}
        ${nameForm(view, {
          action: `${path}/rename`,
          name: view.renamed ?? project.name,
          verb: 'Rename',
        })}
        <p class="hint">Its automation keeps the name and the address that callers know.</p>
      </section>
      ${project.fromSource ? '' : duplicateSection(view, path)} ${archiveSection(view, path)}
      <section class="card narrow" aria-labelledby="delete">
        <div class="card-head"><h2 id="delete">Delete</h2></div>
        ${problemBox(view.deleteProblem)}
        <p class="hint">
          The project is deleted with its versions and drafts. If an automation runs one of them,
          delete the automation first, under its settings.
        </p>
        <p><a class="button danger" href="${path}/delete">Delete the project</a></p>
      </section>`,
  )
}

interface NameForm {
  readonly action: string
  readonly name: string
  readonly verb: string
}

const nameForm = ({ session }: ManagePage, { action, name, verb }: NameForm): Html =>
  html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    <div class="row">
      <label class="grow"
        >Name
        <input name="name" value="${name}" maxlength="200" autocomplete="off" required />
      </label>
      <button class="button">${verb}</button>
    </div>
  </form>`

const duplicateSection = (view: ManagePage, path: string): Html => {
  const name = view.copied ?? `${view.project.name.slice(0, 190)} (copy)`
  return html`<section class="card narrow" aria-labelledby="duplicate">
    <div class="card-head"><h2 id="duplicate">Duplicate</h2></div>
    ${problemBox(view.copyProblem)}
    ${nameForm(view, { action: `${path}/duplicate`, name, verb: 'Duplicate' })}
    <p class="hint">The newest version becomes the first draft of the copy.</p>
  </section>`
}

function archiveSection({ session, project }: ManagePage, path: string): Html {
  const isArchived = project.archivedAt !== null
  return html`<section class="card narrow" aria-labelledby="archive">
    <div class="card-head"><h2 id="archive">${isArchived ? 'Archived' : 'Archive'}</h2></div>
    <p class="hint">
      An archived project is listed apart and takes no new version. Its automation keeps running,
      and it can be brought back at any time.
    </p>
    <form method="post" action="${path}/${isArchived ? 'unarchive' : 'archive'}">
      ${csrfField(session.csrfToken)}
      <button class="button">${isArchived ? 'Bring it back' : 'Archive'}</button>
    </form>
  </section>`
}
