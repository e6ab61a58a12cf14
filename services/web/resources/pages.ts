import { html } from 'hono/html'
import type { Notice } from '../context.ts'
import type { Session } from '../../platform/people/sessions.ts'
import { confirmPage, crumbs } from '../console/frame/confirm-page.ts'
import type { Crumb } from '../console/frame/confirm-page.ts'
import { page as frame } from '../console/frame/layout.ts'
import { countLine, isEmpty, nothingHere, pager, searchBox } from '../console/frame/lists/pager.ts'
import {
  copyable,
  csrfField,
  emptyState,
  factList,
  listTable,
  mailedBox,
  noticeBox,
  problemBox,
  statePill,
  warningBox,
} from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { managedBox } from '../managed/marks.ts'
import { doneNotice, undoAt } from '../console/frame/undo.ts'
import type { MailedLink } from '../mail/mail-link.ts'
import type { Page, PageRequest } from '../../shared/postgres/paging.ts'
import type { Column, Field, Identified, Shown, View } from './declaration.ts'
import { endOf, namesOf } from './names.ts'

/** A form as it is shown: what is typed in it, and what was wrong. */
interface Formed {
  readonly typed: URLSearchParams
  readonly problem: string | undefined
  readonly notice: Notice | undefined
  readonly suggests: Readonly<Record<string, readonly string[]>> | undefined
}

interface Form extends Pick<Formed, 'typed'>, Partial<Pick<Formed, 'suggests'>> {
  readonly session: Session
  readonly tries?: string | undefined
  /** Where it is posted to. */
  readonly path: string
  readonly verb: string
  /** That of the row which it shows: it changes no other. */
  readonly version?: string
}

/** The field with the version. */
export const VERSION = 'row_version'

/** Returns the address of a list. */
export const listPath = <Owner>(
  { kind, under }: Pick<Shown<Owner, Identified>, 'kind' | 'under'>,
  owner: Owner,
): string => `${under.pages ?? ''}${under.pathOf(owner)}/${namesOf(kind).segment}`

interface Owned<Owner> {
  readonly session: Session
  readonly owner: Owner
  /** The address of the page. */
  readonly path: string
}

/** The rows of an owner, and the form of a new one. */
interface ListView<Owner, Row> extends Owned<Owner>, Formed {
  readonly page: Page<Row>
  readonly request: PageRequest
}

/** The list of a resource, and the form of a new one while there is room. */
export function listPage<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
  view: ListView<Owner, Row>,
): Html {
  const { kind, under, words, most, isRolling, fields, verbs } = shown
  const { session, owner, path, page, request, problem } = view
  const hasRoom = verbs.create && (isRolling || page.total < most)
  const { noun, plural, titles } = namesOf(kind)
  const list = { path, noun, page, request }
  const hint = countLine(list, ` of ${under.name(owner)}`)
  const newSection = html`<section class="card narrow" aria-labelledby="new">
    <div class="card-head"><h2 id="new">New ${noun}</h2></div>
    ${problemBox(problem)} ${formOf(Object.entries(fields), { ...view, verb: 'Create' })}
  </section>`
  return frame(
    { title: titles, session, current: under.current },
    html`${under.head(owner, { title: titles, hint, aside: searchBox(list) })}
      ${noticeBox(view.notice?.text)}
      <section class="card flush" aria-label="${titles}">
        ${
          page.items.length > 0
            ? tableOf(shown, page.items, path)
            : isEmpty(list)
              ? emptyState(words.icon, `No ${plural} yet`, words.about)
              : nothingHere(list)
        }
      </section>
      ${pager(list)} ${hasRoom ? newSection : problemBox(problem)}`,
  )
}

function tableOf<Owner, Row extends Identified>(
  { kind, columns, state }: Shown<Owner, Row>,
  rows: readonly Row[],
  path: string,
): Html {
  const [lead, ...others] = columns
  const titles = [lead.title, 'State', ...others.map(({ title }) => title)]
  return listTable(
    namesOf(kind).titles,
    titles,
    rows.map(
      (row) =>
        html`<tr>
          <td class="lead"><a href="${path}/${row.id}">${lead.cell(row)}</a></td>
          <td class="state">${statePill(state(row))}</td>
          ${others.map(
            ({ title, cell, className = '' }) =>
              html`<td data-label="${title}" class="${className}">${cell(row)}</td>`,
          )}
        </tr>`,
    ),
  )
}

/** The page of a row: what can be done with it, its form, and sections by hand. */
export async function rowPage<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
  view: View<Owner, Row> & Formed & { readonly version: string },
): Promise<Html> {
  const { under, words, fields, verbs, columns, state, main, below, beside } = shown
  const { session, row, path, problem, notice } = view
  const name = shown.name(row)
  const entered = Object.entries(fields).filter(([, { look }]) => !look.isFixed)
  const form = html`<section class="card" aria-labelledby="change">
    <div class="card-head"><h2 id="change">${words.form}</h2></div>
    ${await managedBox(shown.kind, view, [row.id])} ${problemBox(problem)}
    ${verbs.change ? formOf(entered, { ...view, ...words, verb: 'Save' }) : factsOf(columns, row)}
  </section>`
  const [, , wrong] = state(row)
  return frame(
    { title: name, session, current: under.current },
    html`${crumbs(crumbsTo(shown, view))}
      <div class="page-head">
        <h1 class="break">${name}</h1>
        ${statePill(state(row))}
        <div class="buttons push">${buttons(shown, view)}</div>
      </div>
      ${doneNotice(session, notice?.text, undoAt(path, notice?.undo))} ${problemBox(wrong)}
      <div class="columns ${main && !verbs.change && 'side-first'}">
        <div>${main ? await main(view) : html`${form} ${await below?.(view)}`}</div>
        <div>${main && form} ${beside?.(view)}</div>
      </div>`,
  )
}

function buttons<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
  { session, row, path }: View<Owner, Row>,
): Html {
  const { verbs, actions, isRemovable } = shown
  const [end] = endOf(shown)
  const mayGo = verbs.remove && (isRemovable?.(row) ?? true)
  const offered = Object.entries(actions).filter(([, { isOffered }]) => isOffered?.(row) ?? true)
  return html`${offered.map(([name, { text, asks }]) =>
    asks
      ? html`<a class="button danger" href="${path}/${name}">${text}</a>`
      : html`<form method="post" action="${path}/${name}">
          ${csrfField(session.csrfToken)}
          <button class="button">${text}</button>
        </form>`,
  )}
  ${mayGo ? html`<a class="button danger" href="${path}/delete">${end}</a>` : ''}`
}

/** What is asked about: its place below the row, its verb, and what comes of it. */
export type Asked = readonly [place: string, verb: string, consequence: string | undefined]

/** The question before a row is deleted, or something is done that nothing takes back. */
export function questionPage<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
  view: Owned<Owner> & { readonly row: Row },
  [place, verb, consequence = '']: Asked,
): Html {
  const { kind, under } = shown
  const { session, path, row } = view
  const object = place === 'delete' ? ` the ${namesOf(kind).noun}` : ':'
  return confirmPage({
    session,
    current: under.current,
    crumbs: crumbsTo(shown, view),
    question: `${verb}${object} ${shown.name(row)}?`,
    consequence,
    action: `${path}/${place}`,
    verb,
    back: path,
  })
}

/** The only page that shows a secret which was just made. */
export function secretPage<Owner, Row extends Identified>(
  shown: Shown<Owner, Row>,
  view: Owned<Owner> & {
    readonly row: Row
    readonly secret: string
    readonly hint: Html | undefined
    readonly mailed: MailedLink | undefined
  },
): Html {
  const { under, columns } = shown
  const { session, path, row, secret, hint, mailed } = view
  const { label = 'Secret' } = shown.secret ?? {}
  return frame(
    { title: `New ${label.toLowerCase()}`, session, current: under.current },
    html`${crumbs(crumbsTo(shown, view))}
      <div class="page-head"><h1>Your new ${label.toLowerCase()}</h1></div>
      <div class="card narrow">
        ${mailedBox(mailed)}
        ${warningBox(`Copy the ${label.toLowerCase()} now. It is not shown again.`)}
        ${factsOf(columns, row)} ${copyable(label, secret)} ${hint ?? ''}
        <p><a class="button primary" href="${path}">I have copied it</a></p>
      </div>`,
  )
}

const factsOf = <Row>(columns: readonly Column<Row>[], row: Row): Html =>
  factList(
    'facts in-row',
    columns.map(({ title, cell }) => [title, cell(row)]),
  )

function crumbsTo<Owner, Row extends Identified>(
  { kind, under, isOnly }: Shown<Owner, Row>,
  { owner }: Pick<Owned<Owner>, 'owner'>,
): readonly Crumb[] {
  const list = { path: listPath({ kind, under }, owner), name: namesOf(kind).titles }
  return isOnly ? under.crumbs(owner) : [...under.crumbs(owner), list]
}

/** A form of fields, filled with what is typed. */
export const formOf = (
  fields: readonly (readonly [name: string, field: Field])[],
  { session, typed, path, suggests, verb, tries, version }: Form,
): Html =>
  html`<form method="post" action="${path}" class="stack">
    ${csrfField(session.csrfToken)}
    ${version && html`<input type="hidden" name="${VERSION}" value="${version}" />`}
    ${fields.map(([name, { look }]) =>
      look.control.render({ ...look, name, suggested: suggests?.[name] }, typed),
    )}
    <div class="buttons">
      <button class="button primary">${verb}</button>
      ${tries && html`<button class="button" formaction="${path}/test#test">${tries}</button>`}
    </div>
  </form>`
