import { html } from 'hono/html'
import type { CrewImport } from '../../../platform/projects/crewai/import-crew.ts'
import { refusalOf } from '../../../platform/projects/crewai/refusal.ts'
import type { ImportProblem, ProblemLevel } from '../../../platform/projects/crewai/report.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { pretty } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { copyable, csrfField, listTable, pill, problemBox } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'

/** The longest definition that the page can hand on, in bytes of its form. */
const FORM_BYTES_MAX = 240 * 1024

/** The form for a project. */
interface UploadPage {
  readonly session: Session
  readonly problem?: string | undefined
}

/** The page that takes a project. */
export const uploadPage = ({ session, problem }: UploadPage): Html =>
  page(
    { title: 'Import a project', session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/projects">Projects</a></nav>
      <div class="page-head"><h1>Import a CrewAI project</h1></div>
      <div class="card narrow">${problemBox(problem)} ${uploadForm(session)}</div>`,
  )

const uploadForm = ({ csrfToken }: Session): Html =>
  html`<form method="post" action="/import-project" enctype="multipart/form-data" class="stack">
    ${csrfField(csrfToken)}
    <label
      >Project
      <input name="project" type="file" multiple required aria-describedby="project-hint" />
    </label>
    <p class="hint under" id="project-hint">
      A ZIP archive, or the files themselves: <span class="mono">crew.jsonc</span> and those of its
      agents, or <span class="mono">agents.yaml</span>, <span class="mono">tasks.yaml</span> and
      <span class="mono">crew.py</span>. At most 2 MiB.
    </p>
    <div class="buttons"><button class="button primary">See what would be imported</button></div>
    <p class="hint">Nothing is stored yet. Programs in the project are read, and never run.</p>
  </form>`

/** A project that was read, and is not stored yet. */
interface PreviewPage {
  readonly session: Session
  readonly imported: CrewImport
  /** The name that was typed for the project, when it was refused. */
  readonly name?: string | undefined
  readonly problem?: string | undefined
}

/** The page that shows what would become of a project. */
export function previewPage({ session, imported, name, problem }: PreviewPage): Html {
  const { definition, problems } = imported
  return page(
    { title: 'Import a project', session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a><a href="/import-project">Import a project</a>
      </nav>
      <div class="page-head"><h1>${definition?.name ?? 'This project is refused'}</h1></div>
      ${problemBox(problem ?? refusalOf(imported, { leaveOut: true }))}
      ${problems.length > 0 ? problemsSection(problems) : ''}
      ${
        definition
          ? html`<section class="card" aria-labelledby="definition">
              <div class="card-head"><h2 id="definition">Definition</h2></div>
              ${copyable('Definition', pretty(definition))}
            </section>`
          : ''
      }
      <div class="card narrow">
        ${definition ? storeForm({ session, imported, name }) : uploadForm(session)}
      </div>`,
  )
}

const LEVELS = {
  refused: ['bad', 'refused'],
  left_out: ['waiting', 'left out'],
  note: ['idle', 'note'],
} as const satisfies Record<ProblemLevel, readonly [Tone, string]>

const problemsSection = (problems: readonly ImportProblem[]): Html =>
  html`<section class="card flush" aria-labelledby="problems">
    <div class="card-head"><h2 id="problems">What is not taken over as it is</h2></div>
    ${listTable(
      'Problems',
      ['Place', 'Level', 'What it is'],
      problems.map(
        ({ level, file, key, message }) =>
          html`<tr>
            <td class="lead">
              <span class="mono">${file === '' ? 'The project' : file}</span>
              <span class="sub mono">${key}</span>
            </td>
            <td class="state">${pill(LEVELS[level][0], LEVELS[level][1])}</td>
            <td data-label="What it is" class="row-wide">${message}</td>
          </tr>`,
      ),
    )}
  </section>`

function storeForm({ session, imported, name }: PreviewPage): Html {
  const { definition, problems } = imported
  const text = JSON.stringify(definition)
  if (encodeURIComponent(text).length > FORM_BYTES_MAX) {
    return html`<p>This definition is too large for the form. Import it with the Designer API.</p>`
  }
  const leavesOut = problems.some(({ level }) => level === 'left_out')
  return html`<form method="post" action="/import-project/drafts" class="stack">
    ${csrfField(session.csrfToken)}
    <input type="hidden" name="definition" value="${text}" />
    <label
      >Project
      <input
        name="project"
        value="${name ?? definition?.name ?? ''}"
        maxlength="200"
        autocomplete="off"
        required
      />
    </label>
    <p class="hint">A project of that name gets another version, a new name a new project.</p>
    ${
      leavesOut
        ? html`<label class="tick"
            ><input type="checkbox" name="leave_out" value="true" required /> Import it without what
            is left out</label
          >`
        : ''
    }
    <div class="buttons"><button class="button primary">Store as a draft</button></div>
  </form>`
}
