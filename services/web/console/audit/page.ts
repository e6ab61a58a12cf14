import { html } from 'hono/html'
import type { ListedEntry } from '../../../platform/audit/audit-list.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { pretty, sentence } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { filterBar } from '../frame/lists/filter-bar.ts'
import { countLine, isEmpty, nothingHere, pager, queryOf } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { ago, emptyState, listTable, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** What an address of the page asks for. */
export interface AuditQuery {
  readonly who: string | undefined
  readonly action: string | undefined
  readonly target: string | undefined
  readonly outcome: 'done' | 'refused' | undefined
  readonly since: string | undefined
  readonly until: string | undefined
  readonly of: 'platform' | undefined
}

/** One page of the audit. */
interface AuditPage {
  readonly session: Session
  readonly query: AuditQuery
  readonly page: Page<ListedEntry>
  readonly request: PageRequest
  /** The ids of those that have a receipt. */
  readonly receipts: ReadonlySet<string>
}

const PATH = '/audit'

/** Who changed what, and who was refused. */
export function auditPage(view: AuditPage): Html {
  const { session, query, page } = view
  const list = listOf(view)
  return frame(
    { title: 'Audit', session, current: PATH },
    html`<div class="page-head">
        <div>
          <h1>Audit</h1>
          <p class="hint">
            ${countLine(list, query.of ? ' of the platform' : ` of ${session.organization}`)}. Each
            was written in the same transaction as its change, and cannot be edited.
          </p>
        </div>
        <a class="button push" href="/audit-export${queryOf({ ...query })}">Export as NDJSON</a>
      </div>
      ${scopes(view)} ${filter(query)}
      <section class="card flush" aria-label="Entries">
        ${page.items.length > 0 ? table(view) : noRows(list)}
      </section>
      ${pager(list)}`,
  )
}

function listOf({ page, request, query }: AuditPage): PagedList {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const filter = Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
  return { path: PATH, noun: 'record', page, request, filter }
}

/** Administrators of the platform see what concerns no organization, too. */
function scopes({ session, query, query: { of } }: AuditPage): Html | string {
  if (!session.user.roles.includes('platform-admin')) return ''
  const entry = (each: 'platform' | undefined, name: string): Html =>
    html`<a
      href="${PATH}${queryOf({ ...query, of: each })}"
      ${each === of ? html`aria-current="page"` : ''}
      >${name}</a
    >`
  return html`<nav class="filter" aria-label="Of">
    ${entry(undefined, session.organization)} ${entry('platform', 'The platform')}
  </nav>`
}

const OUTCOMES = [
  ['', 'Any'],
  ['done', 'Done'],
  ['refused', 'Refused'],
] as const

const filter = ({ of: _of, ...query }: AuditQuery): Html =>
  filterBar(PATH, [
    { name: 'who', label: 'Who', value: query.who },
    { name: 'action', label: 'What', value: query.action },
    { name: 'target', label: 'On what', value: query.target },
    { name: 'outcome', label: 'Outcome', value: query.outcome, options: OUTCOMES },
    { name: 'since', label: 'From', value: query.since, type: 'date' },
    { name: 'until', label: 'To', value: query.until, type: 'date' },
  ])

const noRows = (list: PagedList): Html =>
  isEmpty(list)
    ? emptyState('check', 'No records yet', 'Changes of settings, tokens and people appear here.')
    : nothingHere(list)

function table({ page: { items }, query: { of }, receipts }: AuditPage): Html {
  const rows = items.map((entry) =>
    row(
      entry,
      receipts.has(entry.id) ? `${PATH}/${entry.id}/receipt${queryOf({ of })}` : undefined,
    ),
  )
  return html`<div class="dense">
    ${listTable('Entries of the audit', ['When', 'Who', 'What', 'On what', 'From'], rows)}
  </div>`
}

const KINDS = {
  person: 'a person',
  token: 'a token',
  client: 'a client',
  operator: 'at the shell',
  platform: 'by itself',
} as const

const row = (entry: ListedEntry, receipt: string | undefined): Html =>
  html`<tr>
    <td class="lead">${ago(entry.at)}</td>
    <td data-label="Who" class="terse">
      ${entry.actorName} <span class="sub">${KINDS[entry.actorKind]}</span>
    </td>
    <td data-label="What" class="terse wide">
      ${entry.refused ? pill('bad', 'Refused') : sentence(entry.action)} ${changes(entry, receipt)}
    </td>
    <td data-label="On what" class="terse wide">
      ${entry.targetName ?? entry.targetId ?? ''}
      <span class="sub"
        >${sentence(entry.targetKind)} ${entry.targetName ? entry.targetId : ''}</span
      >
    </td>
    <td data-label="From" class="quiet ${entry.address === null ? 'minor' : ''}">
      ${entry.address ?? '–'}
    </td>
  </tr>`

/** What differs, and the receipt, in a fold. */
function changes(
  { before, after, requestId }: ListedEntry,
  receipt: string | undefined,
): Html | string {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  if (names.length === 0 && requestId === null && receipt === undefined) return ''
  return html`<details class="fold">
    <summary>Details</summary>
    <dl>
      ${names.map(
        (name) =>
          html`<dt>${sentence(name)}</dt>
            <dd>${changed(before?.[name], after?.[name])}</dd>`,
      )}
      ${
        requestId === null
          ? ''
          : html`<dt>Request</dt>
              <dd class="mono">${requestId}</dd>`
      }
    </dl>
    ${receipt === undefined ? '' : html`<a href="${receipt}">Download receipt</a>`}
  </details>`
}

function changed(before: unknown, after: unknown): string {
  if (before === undefined) return pretty(after)
  return `${pretty(before)} → ${after === undefined ? 'nothing' : pretty(after)}`
}
