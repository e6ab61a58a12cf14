import { html } from 'hono/html'
import type { ListedRun } from '../../../../platform/runs/run-list.ts'
import { ago, listTable, ranFor, runPill, starterOf, testPill, tokensOf } from '../parts.ts'
import type { Html } from '../parts.ts'
import { shortId } from '../format.ts'

type Row = Omit<ListedRun, 'automationName' | 'trigger' | 'starterName' | 'testsProjectId'> & {
  readonly testsProjectId?: number | null
  readonly trigger?: ListedRun['trigger']
  readonly starterName?: string | null
  readonly automationName?: string | undefined
}

/** The columns that a list of runs can have beside the id, in their order. */
export const RUN_COLUMNS = [
  'automation',
  'status',
  'queued',
  'finished',
  'starter',
  'duration',
  'tokens',
  'attempt',
] as const
/** A column of a list of runs. */
export type RunColumn = (typeof RUN_COLUMNS)[number]

interface Column {
  readonly title: string
  readonly isNumber?: true
  readonly cell: (row: Row) => Html
}

const COLUMNS: Readonly<Record<RunColumn, Column>> = {
  automation: {
    title: 'Automation',
    cell: ({ automationId, automationName, testsProjectId = null }) =>
      html`<td class="row-wide">
        ${
          testsProjectId === null
            ? html`<a href="/automations/${automationId}">${automationName}</a>`
            : html`<a href="/projects/${testsProjectId}">${automationName}</a> ${testPill()}`
        }
      </td>`,
  },
  status: {
    title: 'Status',
    cell: ({ status }) => html`<td class="state">${runPill(status)}</td>`,
  },
  queued: {
    title: 'Queued',
    cell: ({ queuedAt }) => html`<td data-label="Queued" class="quiet">${ago(queuedAt)}</td>`,
  },
  finished: {
    title: 'Finished',
    cell: ({ finishedAt }) =>
      html`<td data-label="Finished" class="quiet">${finishedAt ? ago(finishedAt) : '–'}</td>`,
  },
  starter: {
    title: 'Started by',
    cell: (row) => html`<td data-label="Started by" class="terse">${starterOf(row)}</td>`,
  },
  duration: {
    title: 'Duration',
    isNumber: true,
    cell: (row) => html`<td data-label="Duration" class="number terse">${ranFor(row)}</td>`,
  },
  tokens: {
    title: 'Tokens',
    isNumber: true,
    cell: (row) => html`<td data-label="Tokens" class="number">${tokensOf(row)}</td>`,
  },
  attempt: {
    title: 'Attempt',
    isNumber: true,
    cell: ({ attempt }) => html`<td data-label="Attempt" class="number">${attempt || '–'}</td>`,
  },
}

/** Returns the columns that have something to say of these rows. */
function usualColumns(rows: readonly Row[]): readonly RunColumn[] {
  const has: Readonly<Partial<Record<RunColumn, boolean>>> = {
    automation: rows.some(({ automationName }) => automationName !== undefined),
    attempt: rows.some(({ attempt }) => attempt > 1),
    starter: rows.some(({ trigger }) => trigger),
    finished: false,
  }
  return RUN_COLUMNS.filter((each) => has[each] ?? true)
}

/**
 * Runs in the order given. Without a choice of columns, with the automation's name where the rows
 * have one, and with the attempt where a run had several.
 */
export function runsTable(
  label: string,
  rows: readonly Row[],
  chosen: readonly RunColumn[] = usualColumns(rows),
): Html {
  const columns = chosen.map((each) => COLUMNS[each])
  return html`<div class="dense">
    ${listTable(
      label,
      [
        'Run',
        ...columns.map(({ title, isNumber }) => (isNumber ? (['number', title] as const) : title)),
      ],
      rows.map(
        (row) =>
          html`<tr>
            ${idCell(row)} ${columns.map(({ cell }) => cell(row))}
          </tr>`,
      ),
    )}
  </div>`
}

const idCell = ({ id, automationId }: Row): Html =>
  html`<td class="lead">
    <a class="mono" href="/automations/${automationId}/executions/${id}" title="${id}"
      >${shortId(id)}</a
    >
  </td>`
