import { html } from 'hono/html'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type { Release } from '../../../platform/projects/releases.ts'
import type { Proposal } from '../../../platform/projects/proposals.ts'
import { page as frame } from '../frame/layout.ts'
import { ago, emptyState, listTable, pill } from '../frame/parts.ts'
import type { Html, Tone } from '../frame/parts.ts'
import { doneNotice } from '../frame/undo.ts'
import type { Undo } from '../frame/undo.ts'
import { assistantSection } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'
import { projectPath, versionPath } from './own-project.ts'
import { releasePill } from './release-section.ts'

/** A project with its newest versions. */
interface ProjectPage extends AssistantForm {
  readonly versions: readonly Version[]
  readonly release: Release
  readonly proposals: readonly Proposal[]
  readonly notice?: string | undefined
  readonly undo?: Undo | undefined
}

/** The page of a project: its versions, and the form that asks the Assistant. */
export function projectPage(view: ProjectPage): Html {
  const { session, project, notice } = view
  return frame(
    { title: project.name, session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb"><a href="/projects">Projects</a></nav>
      <div class="page-head">
        <h1 class="break">${project.name}</h1>
        ${project.archivedAt === null ? '' : pill('idle', 'archived')}
        <div class="buttons push">
          ${
            project.automationId === null
              ? ''
              : html`<a class="button" href="/automations/${project.automationId}">Automation</a>`
          }
          ${ways(view)}
        </div>
      </div>
      ${doneNotice(session, notice, view.undo)}
      <div class="columns">
        <div>${versionsSection(view)} ${proposalsSection(view)}</div>
        <div>${project.fromSource ? fromSource(project) : asking(view)}</div>
      </div>`,
  )
}

function ways(view: ProjectPage): Html {
  const { project } = view
  const path = projectPath(project)
  return html`${
      project.lastVersion > 1 ? html`<a class="button" href="${path}/compare">Compare</a>` : ''
    }
    <a class="button" href="${path}/manage">Manage</a>
    ${
      project.fromSource || project.archivedAt !== null
        ? ''
        : html`<a class="button primary" href="${path}/new-version${fromNewest(view)}"
            >Write a version</a
          >`
    }`
}

const fromNewest = ({ base }: ProjectPage): string => (base === undefined ? '' : `?from=${base}`)

const asking = (view: ProjectPage): Html | string =>
  view.project.archivedAt === null ? assistantSection(view) : ''

const fromSource = ({ automationId }: ProjectPage['project']): Html =>
  html`<section class="card" aria-labelledby="source">
    <div class="card-head"><h2 id="source">Made from a source</h2></div>
    <p class="hint">Its versions are sources, which are deployed rather than written here.</p>
    ${
      automationId === null
        ? ''
        : html`<p>
            <a class="button" href="/automations/${automationId}/deployments">Deployments</a>
          </p>`
    }
  </section>`

function versionsSection({ project, versions, release }: ProjectPage): Html {
  return html`<section class="card flush" aria-labelledby="versions">
    <div class="card-head"><h2 id="versions">Versions</h2></div>
    ${
      versions.length > 0
        ? listTable(
            'Versions',
            ['Version', 'State', 'Created'],
            versions.map(({ number, publishedAt, createdAt, note: written }) => {
              // Its automation was there before there was anything to deploy.
              const isEmpty = project.fromSource && number === 1
              const note = isEmpty ? 'Before the first deployment' : written
              return html`<tr>
                <td class="lead">
                  <a href="${versionPath(project, number)}">Version ${number}</a>
                  ${note === null ? '' : html`<span class="sub">${shorten(note)}</span>`}
                </td>
                <td class="state">${statePill(release, { number, publishedAt })}</td>
                <td data-label="Created" class="quiet">${ago(createdAt)}</td>
              </tr>`
            }),
          )
        : emptyState(
            'pen',
            'No versions yet',
            html`Describe what the crew should do, and the Assistant drafts one; or begin with an
            example of one agent and one task. ${writeFirst(project)}`,
          )
    }
  </section>`
}

const writeFirst = (project: ProjectPage['project']): Html | string =>
  project.fromSource || project.archivedAt !== null
    ? ''
    : html`<span class="empty-ways"
        ><a class="button primary" href="${projectPath(project)}/new-version"
          >Begin with an example</a
        ></span
      >`

/** The version that runs is told from those before it. */
function statePill(
  release: Release,
  { number, publishedAt }: Pick<Version, 'number' | 'publishedAt'>,
): Html {
  const taken = releasePill(release, number)
  if (taken !== '') return html`${taken}`
  const isFormer = publishedAt !== null && release.running !== null
  return isFormer ? pill('idle', 'published') : versionPill({ publishedAt })
}

/** Whether a version is published. */
export const versionPill = ({ publishedAt }: Pick<Version, 'publishedAt'>): Html =>
  publishedAt === null ? pill('idle', 'draft') : pill('good', 'published')

const TONES = {
  asked: 'busy',
  proposed: 'waiting',
  failed: 'bad',
  accepted: 'good',
  discarded: 'idle',
} as const satisfies Record<Proposal['state'], Tone>
const NAMES = { asked: 'drafting', proposed: 'to decide', failed: 'failed' } as const

/** How far a proposal is. */
export const proposalPill = ({ state }: Pick<Proposal, 'state'>): Html =>
  pill(TONES[state], state === 'accepted' || state === 'discarded' ? state : NAMES[state])

function proposalsSection({ project, proposals }: ProjectPage): Html | string {
  if (proposals.length === 0) return ''
  return html`<section class="card flush" aria-labelledby="proposals">
    <div class="card-head"><h2 id="proposals">Asked of the Assistant</h2></div>
    ${listTable(
      'Proposals',
      ['Request', 'State', 'Asked'],
      proposals.map(
        (proposal) =>
          html`<tr>
            <td class="lead">
              <a class="break" href="${projectPath(project)}/proposals/${proposal.id}"
                >${shorten(proposal.request)}</a
              >
            </td>
            <td class="state">${proposalPill(proposal)}</td>
            <td data-label="Asked" class="quiet">${ago(proposal.createdAt)}</td>
          </tr>`,
      ),
    )}
  </section>`
}

const SHOWN_MAX = 120

const shorten = (text: string): string =>
  text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`
