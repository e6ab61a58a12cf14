import { html, raw } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../../console/frame/layout.ts'
import { emptyState } from '../../console/frame/parts.ts'
import type { Html } from '../../console/frame/parts.ts'
import { CHECKS, COMPONENT_NAMES } from '../checks/list.ts'
import type { ComponentName } from '../checks/list.ts'
import type { Diagnosis } from '../diagnoses.ts'
import type { ComponentResult } from '../finding.ts'
import { latencyBadge, statusPill, verdictPill } from './parts.ts'
import { reportSection } from './report.ts'
import { absoluteTime, duration } from '../../console/frame/format.ts'
import { tableCard } from './table-card.ts'

interface Viewer {
  readonly session: Session
  readonly pod: string
}

/**
 * Stands in the page where the parts that come later go. No text from elsewhere can hold it: those
 * are escaped.
 */
const SLOT = '<!--report-->'

/**
 * The page without a new diagnosis: the last report of this pod, and an offer to run the checks.
 */
export function platformHealthPage({
  session,
  pod,
  past,
}: Viewer & { past: readonly Diagnosis[] }): Html {
  const [last] = past
  return frame(
    session,
    last
      ? html`${reportSection(last, pod)} ${diagnosesTable(past, pod)}`
      : html`<section class="card flush">
          ${emptyState(
            'pulse',
            'No run yet',
            html`<a class="button primary" href="/admin/platform_health">Run the checks</a>`,
          )}
        </section>`,
  )
}

/** The parts of the page in the order in which they are sent. */
interface HealthStream {
  /** The page up to the list of results. */
  readonly begin: string
  /** One line of the list of results. */
  result(name: ComponentName, result: ComponentResult): Promise<string>
  /** The report, which takes the place of the list, and the rest of the page. */
  end(past: readonly Diagnosis[]): Promise<string>
}

/** Prepares the page in parts, for a browser that shows them as they arrive. */
export async function platformHealthStream({ session, pod }: Viewer): Promise<HealthStream> {
  const [head = '', tail = ''] = (await text(frame(session, html`${raw(SLOT)}`))).split(SLOT)
  return {
    begin: head + (await text(progressStart())),
    result: (name, result) => text(progressLine(name, result)),
    async end(past) {
      const [last] = past
      const report = last ? html`${reportSection(last, pod)} ${diagnosesTable(past, pod)}` : ''
      return `</ol></section>${await text(report)}${tail}`
    },
  }
}

const text = async (part: Html | string): Promise<string> => String(await part)

const frame = (session: Session, body: Html): Html =>
  page(
    { title: 'Platform health', session, current: '/admin/platform_health' },
    html`<div class="page-head">
        <div>
          <h1>Platform health</h1>
          <p class="hint">What this installation depends on, checked from this pod just now.</p>
        </div>
      </div>
      ${body}`,
  )

/** Open at its end: the lines follow. */
const progressStart = (): Html =>
  html`${raw('<section class="card probe-running" aria-label="Progress" aria-live="polite">')}
    <div class="card-head">
      <h2>Checking ${COMPONENT_NAMES.length} components</h2>
      <span class="pill busy">Running</span>
    </div>
    <div class="probe-bar" aria-hidden="true"></div>
    ${raw('<ol class="probe-progress">')}`

const progressLine = (name: ComponentName, result: ComponentResult): Html =>
  html`<li>
    <span>${CHECKS[name].title}</span>
    <span class="pair">${latencyBadge(result)} ${statusPill(result.status)}</span>
  </li>`

/** The diagnoses that this pod remembers. */
function diagnosesTable(past: readonly Diagnosis[], pod: string): Html | string {
  if (past.length === 0) return ''
  return tableCard({
    id: 'runs',
    title: 'Last runs',
    aside: html`Pod <code>${pod}</code>`,
    columns: ['Started', 'Verdict', 'Failed components'],
    numbers: ['Duration'],
    rows: past.map(diagnosisRow),
  })
}

function diagnosisRow({ id, startedAt, report }: Diagnosis): Html {
  const failing = COMPONENT_NAMES.filter((name) => report.components[name].status === 'fail')
  return html`<tr>
    <td class="lead"><a href="?download=1&amp;run=${id}">${absoluteTime(startedAt)}</a></td>
    <td class="state">${verdictPill(report.status)}</td>
    <td data-label="Failed components" class="wide">
      ${
        failing.length > 0
          ? failing.map((name) => CHECKS[name].title).join(', ')
          : html`<span class="quiet">None</span>`
      }
    </td>
    <td data-label="Duration" class="number">${duration(report.duration_ms)}</td>
  </tr>`
}
