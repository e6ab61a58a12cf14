import { html } from 'hono/html'
import type { Version } from '../../../platform/project-versions.ts'
import type { Project } from '../../../platform/projects.ts'
import { definitionText } from '../../../platform/proposal-answer.ts'
import type { Session } from '../../../platform/sessions.ts'
import { icon } from '../frame/icons.ts'
import { page as frame } from '../frame/layout.ts'
import { copyable, csrfField, noticeBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { assistantSection } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'
import { projectPath, versionPath } from './own-project.ts'
import { versionPill } from './page.ts'

/** A definition that was refused. */
export interface Refused {
  /** The text as it was typed; undefined: that of the version. */
  readonly text?: string
  readonly problems: readonly string[]
}

interface Editor {
  readonly session: Session
  readonly action: string
  readonly text: string
  readonly verb: string
}

/** The form of a definition as text. */
const editor = ({ session, action, text, verb }: Editor): Html =>
  html`<form method="post" action="${action}" class="stack">
    ${csrfField(session.csrfToken)}
    <label
      >Definition (JSON)
      <textarea name="definition" class="definition" spellcheck="false" required>${text}</textarea>
    </label>
    <div><button class="button primary">${verb}</button></div>
  </form>`

const crumbs = (project: Project): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="/projects">Projects</a><a href="${projectPath(project)}">${project.name}</a>
  </nav>`

/** Each problem with a definition, at its place. */
export const problemList = (problems: readonly string[], title: string): Html | string =>
  problems.length === 0
    ? ''
    : html`<div class="notice bad" role="alert">
        ${icon('alert')}
        <div>
          <p>${title}</p>
          <ul>
            ${problems.map((problem) => html`<li class="break">${problem}</li>`)}
          </ul>
        </div>
      </div>`

/** The form of a new version. */
export interface NewVersionPage {
  readonly session: Session
  readonly project: Project
  readonly text: string
  readonly problems?: readonly string[]
}

/** The page on which a version is written. */
export function newVersionPage({ session, project, text, problems = [] }: NewVersionPage): Html {
  const action = `${projectPath(project)}/versions`
  return frame(
    { title: 'New version', session, current: '/projects' },
    html`${crumbs(project)}
      <div class="page-head"><h1>New version</h1></div>
      <section class="card" aria-label="Definition">
        ${problemList(problems, 'The definition cannot be used:')}
        ${editor({ session, action, text, verb: 'Add the draft' })}
      </section>`,
  )
}

/** A version of a project. */
export interface VersionPage extends AssistantForm {
  readonly version: Version
  readonly refused?: Refused
  readonly notice?: string | undefined
}

/** The page of a version: a draft can be changed and published, a published one only read. */
export function versionPage(view: VersionPage): Html {
  const { session, project, version, refused, notice } = view
  const { number, publishedAt } = version
  const path = versionPath(project, number)
  const text = refused?.text ?? definitionText(version.definition)
  return frame(
    { title: `Version ${number}`, session, current: '/projects' },
    html`${crumbs(project)}
      <div class="page-head">
        <h1>Version ${number}</h1>
        ${versionPill(version)}
        <div class="buttons push">${publishedAt === null ? publish(view, path) : anew(view)}</div>
      </div>
      ${noticeBox(notice)} ${problemList(refused?.problems ?? [], 'This cannot be used:')}
      <div class="columns side-first">
        <div>
          <section class="card" aria-label="Definition">
            ${
              publishedAt === null
                ? editor({ session, action: path, text, verb: 'Save the draft' })
                : copyable('Definition', text)
            }
          </section>
        </div>
        <div>${assistantSection(view)}</div>
      </div>`,
  )
}

const publish = ({ session }: VersionPage, path: string): Html =>
  html`<form method="post" action="${path}/publish">
    ${csrfField(session.csrfToken)}<button class="button">Publish</button>
  </form>`

const anew = ({ project, version }: VersionPage): Html =>
  html`<a class="button" href="${projectPath(project)}/new-version?from=${version.number}"
    >Write a version from this one</a
  >`
