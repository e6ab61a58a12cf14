import { html } from 'hono/html'
import { inputNames } from '../../../platform/definitions/crew-inputs.ts'
import type { Project } from '../../../platform/projects/projects.ts'
import type { Version } from '../../../platform/projects/project-versions.ts'
import type {
  Release,
  Rollback,
  SharedVersion,
  VersionRuns,
} from '../../../platform/projects/releases.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { count } from '../frame/format.ts'
import { csrfField, listTable, pill, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { projectPath, versionPath } from './own-project.ts'
import { rollbackFields, rollbackTestSection, rolledBackSection } from './rollback-section.ts'

/** What may be chosen as the share of a version. */
const PERCENTS = [1, 5, 10, 25, 50, 100]

/** What a version takes of the calls, and the versions that it is compared with. */
export interface ReleaseView {
  readonly release: Release
  readonly compared: readonly VersionRuns[]
  /** The last version that was taken back without a person. */
  readonly lastRollback?: Rollback | undefined
}

/** The choice of the calls that a version takes. */
export const percentSelect = (chosen = 100): Html =>
  html`<label
    >Calls that it takes
    <select name="percent">
      ${PERCENTS.map(
        (percent) =>
          html`<option value="${percent}" ${percent === chosen ? 'selected' : ''}>
            ${percent === 100 ? 'All' : `${percent} of 100`}
          </option>`,
      )}
    </select>
  </label>`

/** What a version takes of the calls; nothing for one that takes none. */
export function releasePill({ running, shared }: Release, number: number): Html | string {
  if (number === running) return pill('good', 'in use')
  return number === shared?.number ? pill('busy', `${shared.percent} of 100 calls`) : ''
}

/** The section of a published version: what runs, and how to give this one its share. */
export function releaseSection(
  { session, project, version }: ReleasePage,
  { release }: Pick<ReleaseView, 'release'>,
): Html | string {
  const { running, shared } = release
  const { number } = version
  if (running === null) return ''
  const path = versionPath(project, number)
  return html`<section class="card" aria-labelledby="release">
    <div class="card-head"><h2 id="release">Release</h2></div>
    <p class="hint">${sentence(project, release, number)}</p>
    ${
      number === running
        ? ''
        : html`<form method="post" action="${path}/release" class="stack">
            ${csrfField(session.csrfToken)}
            ${percentSelect(shared?.number === number ? shared.percent : 100)}
            ${stickySelect(version, shared)}
            ${rollbackFields(shared?.number === number ? shared : null)}
            <div><button class="button primary">Release</button></div>
          </form>`
    }
    ${
      shared && (number === running || number === shared.number)
        ? html`<form method="post" action="${projectPath(project)}/release/end">
            ${csrfField(session.csrfToken)}
            <button class="button">Take the share back</button>
          </form>`
        : ''
    }
  </section>`
}

interface ReleasePage {
  readonly session: Session
  readonly project: Project
  readonly version: Version
}

function sentence(project: Project, { running, shared }: Release, number: number): Html {
  const link = (of: number): Html =>
    of === number
      ? html`This version`
      : html`<a href="${versionPath(project, of)}">Version ${of}</a>`
  if (running === null) return html``
  if (shared === null) return html`${link(running)} takes all calls.`
  const chosen =
    shared.stickyInput === null
      ? ''
      : html`, chosen by the input <code>${shared.stickyInput}</code>`
  return html`${link(shared.number)} takes ${shared.percent} of 100 calls${chosen}. ${link(running)}
  takes the others.`
}

const stickySelect = ({ definition }: Version, shared: SharedVersion | null): Html =>
  html`<label
    >Chosen by
    <select name="sticky_input">
      <option value="">Idempotency-Key, or chance</option>
      ${inputNames(definition).map(
        (name) =>
          html`<option value="${name}" ${name === shared?.stickyInput ? 'selected' : ''}>
            the input ${name}
          </option>`,
      )}
    </select>
    <span class="hint">Equal values get the same version, also when the share grows.</span>
  </label>`

/**
 * What became of the calls of both versions, side by side, and the test of them; where one takes
 * them all, why another one takes none any more.
 */
export function comparisonSection(
  { release: { running, shared }, compared, lastRollback }: ReleaseView,
  number: number,
): Html | string {
  if (shared === null) return lastRollback?.number === number ? rolledBackSection(lastRollback) : ''
  return html`${rollbackTestSection(shared, running)}
    <section class="card flush" aria-labelledby="compared">
      <div class="card-head">
        <h2 id="compared">Calls since</h2>
        <span class="hint">${time(shared.startedAt)}</span>
      </div>
      ${listTable(
        'Calls by version',
        [
          'Version',
          ['number', 'Calls'],
          ['number', 'Failed'],
          ['number', 'Half within'],
          ['number', 'Tokens'],
        ],
        compared.map(
          ({ number, runs, ended, failed, medianSeconds, tokens }) =>
            html`<tr>
              <td class="lead">Version ${number}</td>
              <td data-label="Calls" class="number">${count(runs)}</td>
              <td data-label="Failed" class="number">
                ${ended === 0 ? '–' : `${((100 * failed) / ended).toFixed(1)} %`}
              </td>
              <td data-label="Half within" class="number">
                ${medianSeconds === null ? '–' : `${medianSeconds.toFixed(1)} s`}
              </td>
              <td data-label="Tokens" class="number">
                ${tokens === null ? '–' : count(Math.round(tokens))}
              </td>
            </tr>`,
        ),
      )}
    </section>`
}
