import type { Context } from 'hono'
import { html } from 'hono/html'
import type { Verdict } from '../../../platform/evaluations/publish-through-gates.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { crewGraph } from '../frame/crew-graph.ts'
import { page as frame } from '../frame/layout.ts'
import { copyable, csrfField, problemBox, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { doneNotice } from '../frame/undo.ts'
import type { Undo } from '../frame/undo.ts'
import { assistantSection } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'
import { digestOf } from './editor/definition-form.ts'
import { diffCounts, diffView } from '../frame/text/diff-view.ts'
import { editor, problemList } from './editor/editor.ts'
import { shortenTexts } from './editor/kept-texts.ts'
import type { Choices } from './editor/offers.ts'
import { diffLines } from '../frame/text/line-diff.ts'
import { knowledgeSection } from './knowledge-section.ts'
import { projectPath, versionPath } from './own-project.ts'
import type { OwnVersion } from './own-project.ts'
import type { SignedIn } from '../../context.ts'
import { versionPill } from './page.ts'
import { comparisonSection, percentSelect, releasePill, releaseSection } from './release-section.ts'
import type { ReleaseView } from './release-section.ts'
import { verdictSection } from './verdict-section.ts'
import { testSection } from './test-section.ts'
import type { DraftTests } from './test-section.ts'

/** A definition that was refused, or is not saved yet. */
export interface Refused {
  /** The text as it was typed; undefined: that of the version. */
  readonly text?: string
  readonly problems: readonly string[]
  /** Nothing was wrong: a button of the form only changed the form. */
  readonly isUnsaved?: boolean
  /** The gates that do not let it through, or not yet. */
  readonly verdicts?: readonly Verdict[]
  /** Why a file is no knowledge. */
  readonly knowledgeProblem?: string
  /** Somebody else changed the draft meanwhile. */
  readonly isStale?: boolean
}

/** Answers with the page of a version, and what was refused of it. */
export type Refuse = (
  c: Context<SignedIn>,
  own: OwnVersion,
  refused: Refused & { readonly status?: 200 | 409 },
) => Promise<Response>

const crumbs = (project: Project): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/projects">Projects</a><a href="${projectPath(project)}">${project.name}</a>
  </nav>`

const REFUSED = 'The definition cannot be used:'

/** The form of a new version. */
interface NewVersionPage {
  readonly session: Session
  readonly project: Project
  readonly text: string
  readonly problems?: readonly string[]
  readonly isUnsaved?: boolean
  readonly choices: Choices
  /** The number of the version that it begins with. */
  readonly from?: number | undefined
}

/** The page on which a version is written. */
export function newVersionPage(view: NewVersionPage): Html {
  const { session, project, text, problems = [], isUnsaved = false, choices } = view
  const from = view.from === undefined ? '' : `?from=${view.from}`
  const action = `${projectPath(project)}/versions${from}`
  return frame(
    { title: 'New version', session, current: '/projects', script: 'editorScript' },
    html`${crumbs(project)}
      <div class="page-head"><h1>New version</h1></div>
      ${isUnsaved ? unsaved() : problemList(problems, REFUSED)}
      <div class="editor">
        ${editor({ session, project, action, text, problems, choices, verb: 'Add the draft' })}
      </div>`,
  )
}

const unsaved = (): Html => warningBox('These changes are not saved yet.')

/** A version of a project. */
interface VersionPage extends AssistantForm, ReleaseView {
  readonly version: Version
  readonly refused?: Refused
  readonly notice?: string | undefined
  readonly undo?: Undo | undefined
  readonly tests?: DraftTests
  readonly choices: Choices
}

/** The page of a version: a draft can be changed and published, a published one only read. */
export function versionPage(view: VersionPage): Html {
  const { session, project, version, refused, notice } = view
  const { number, publishedAt } = version
  const isDraft = publishedAt === null && !project.fromSource
  return frame(
    {
      title: `Version ${number} of ${project.name}`,
      session,
      current: '/projects',
      ...(isDraft ? { script: 'editorScript' as const } : {}),
    },
    html`${crumbs(project)}
      <div class="page-head">
        <h1>Version ${number}</h1>
        ${versionPill(version)} ${releasePill(view.release, number)}
        <div class="buttons push">${ways(view)}</div>
      </div>
      ${doneNotice(session, notice, view.undo)} ${refused ? problemsOf(view, refused) : ''}
      ${version.note === null ? '' : html`<p class="card version-note">${version.note}</p>`}
      ${isDraft ? draft(view) : published(view)}`,
  )
}

function problemsOf(view: VersionPage, refused: Refused): Html | string {
  if (refused.isStale) return stale(view, refused)
  if (refused.verdicts) return verdictSection(view, refused.verdicts)
  if (refused.knowledgeProblem !== undefined) return problemBox(refused.knowledgeProblem)
  return refused.isUnsaved ? unsaved() : problemList(refused.problems, 'This cannot be used:')
}

/** Shows what saving again would change in what somebody else has saved meanwhile. */
function stale({ version }: VersionPage, { text = '' }: Refused): Html {
  const lines = diffLines(definitionText(shortenTexts(version.definition)), text)
  return html`<section class="card failed" role="alert" aria-labelledby="stale">
    <div class="card-head">
      <h2 id="stale">The draft was changed since you opened it</h2>
      <span class="hint">${diffCounts(lines)}</span>
    </div>
    <p>
      Another person saved it meanwhile. This is what your text changes in theirs; saving again
      replaces it. Nothing of yours is lost: it is in the editor below.
    </p>
    ${diffView(lines, 'What your text changes')}
  </section>`
}

function draft(view: VersionPage): Html {
  const { session, project, version, refused } = view
  const path = versionPath(project, version.number)
  const text = refused?.text ?? definitionText(shortenTexts(version.definition))
  const problems = refused?.problems ?? []
  const since = digestOf(version.definition)
  const form = { session, project, action: path, text, problems, since, choices: view.choices }
  const { definition } = version
  return html`<div class="editor">
    ${editor({ ...form, verb: 'Save the draft' })} ${knowledgeSection(view)}
    ${testSection({ session, definition }, view.tests ?? {}, path)} ${publishSection(view, path)}
    ${assistantSection(view)}
  </div>`
}

const publishSection = ({ session, version, release }: VersionPage, path: string): Html =>
  html`<section class="card" aria-labelledby="publish">
    <div class="card-head"><h2 id="publish">Publish</h2></div>
    <p class="hint">
      What is saved becomes the version that automations of the project run, from the next run on,
      or that takes a share of their calls. It cannot change any more.
    </p>
    <form method="post" action="${path}/publish" class="stack">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="since" value="${digestOf(version.definition)}" />
      <label
        >What is new
        <textarea name="note" rows="2" maxlength="1000" placeholder="A note for others"></textarea>
      </label>
      ${release.running === null ? '' : percentSelect()}
      <div><button class="button primary">Publish</button></div>
    </form>
  </section>`

const published = (view: VersionPage): Html =>
  html`<div class="columns">
    <div>
      ${comparisonSection(view, view.version.number)}
      <section class="card" aria-label="Definition">
        ${view.project.fromSource ? '' : crewGraph(view.version.definition)}
        ${copyable('Definition', definitionText(view.version.definition))}
      </section>
      ${knowledgeSection(view)}
    </div>
    <div>
      ${view.project.fromSource ? '' : [releaseSection(view, view), assistantSection(view)]}
    </div>
  </div>`

const draftWays = ({ project }: VersionPage, path: string): Html =>
  html`<a class="button danger" href="${path}/delete">Delete</a>
    ${project.fromSource ? '' : html`<a class="button primary" href="#publish">Publish</a>`}`

function ways(view: VersionPage): Html {
  const { project, version } = view
  const { number, publishedAt } = version
  const path = versionPath(project, number)
  const anew = `${projectPath(project)}/new-version?from=${number}`
  return html`${
      publishedAt !== null && project.automationId !== null
        ? html`<a class="button primary" href="/automations/${project.automationId}#run">Run</a>`
        : ''
    }
    ${
      number > 1
        ? html`<a class="button" href="${projectPath(project)}/compare?to=${number}">Compare</a>`
        : ''
    }
    <a class="button" href="${path}/definition">Export</a>
    ${publishedAt === null ? draftWays(view, path) : ''}
    ${
      publishedAt === null || project.fromSource
        ? ''
        : html`<a class="button" href="${anew}">Write a version from this one</a>`
    }`
}
