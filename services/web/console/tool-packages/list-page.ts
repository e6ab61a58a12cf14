import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ToolPackage } from '../../../platform/tools/tool-packages.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, nothingHere, pager, queryOf, searchBox } from '../frame/lists/pager.ts'
import type { PagedList } from '../frame/lists/pager.ts'
import { ago, copyable, csrfField, emptyState, listTable, viewAll } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { uploadCommands } from './commands.ts'
import type { IndexName, LabelledCommand } from './commands.ts'
import { PACKAGES_PATH, packagePath } from './paths.ts'
import { count } from '../frame/format.ts'

/** The packages of one index by page, and the first public ones beside those of an organization. */
interface PackagesPage {
  readonly session: Session
  readonly baseUrl: string
  readonly index: IndexName
  readonly page: Page<ToolPackage>
  readonly request: PageRequest
  /** The first public packages; absent where the page is theirs. */
  readonly publicPage: Page<ToolPackage> | undefined
  /** The life of a token that is issued here. */
  readonly days: number
}

/** The packages that crews of an organization can use, and how to publish more. */
export function packagesPage(view: PackagesPage): Html {
  const { session, index, publicPage, request } = view
  const list = listOf(view)
  const isPublic = index === 'public'
  return frame(
    { title: 'Tool packages', session, current: PACKAGES_PATH },
    html`${isPublic ? crumbs() : ''}
      <div class="page-head">
        <div>
          <h1>${isPublic ? 'Public tool packages' : 'Tool packages'}</h1>
          <p class="hint">${countLine(list, isPublic ? '' : ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
        ${isPublic ? '' : html`<a class="button push" href="#publish">Publish</a>`}
      </div>
      <section class="card flush" aria-label="${isPublic ? 'Public packages' : 'Packages'}">
        ${list.page.items.length > 0 ? packagesTable(index, list.page.items) : noRows(list, index)}
      </section>
      ${pager(list)} ${publicPage ? publicSection(publicPage, request) : ''}
      ${isPublic ? '' : publishSection(view)}`,
  )
}

const crumbs = (): Html =>
  html`<nav class="crumbs" aria-label="Breadcrumb">
    <a href="${PACKAGES_PATH}">Tool packages</a>
  </nav>`

const listOf = ({ index, page, request }: PackagesPage): PagedList<ToolPackage> => ({
  path: PACKAGES_PATH,
  noun: 'package',
  page,
  request,
  ...(index === 'public' && { filter: { of: 'public' } }),
})

function noRows(list: PagedList, index: IndexName): Html {
  if (list.request.search !== undefined || list.page.total > 0) return nothingHere(list)
  return index === 'public'
    ? emptyState('package', 'No public packages', 'The operators of the platform publish them.')
    : emptyState(
        'package',
        'No packages yet',
        html`Crews from source install the packages of their organization by name.
          <a href="#publish">Issue a token and upload the first one</a>.`,
      )
}

function publicSection(page: Page<ToolPackage>, { search }: PageRequest): Html {
  const all = `${PACKAGES_PATH}${queryOf({ of: 'public', q: search })}`
  return html`<section class="card flush" aria-labelledby="public">
    <div class="card-head">
      <h2 id="public">Public packages</h2>
      ${viewAll(all, page.total)}
    </div>
    ${
      page.items.length > 0
        ? packagesTable('public', page.items)
        : emptyState(
            'package',
            search === undefined ? 'No public packages' : 'No public packages found',
            'The operators of the platform publish them, for every organization.',
          )
    }
  </section>`
}

const publishSection = ({ session, baseUrl, days }: PackagesPage): Html =>
  html`<section class="card" id="publish" aria-labelledby="publish-title">
    <div class="card-head"><h2 id="publish-title">Publish a package</h2></div>
    <p class="hint">
      Build a wheel, issue a token, and upload what is in <code>dist</code>. A file may have up to
      64 MiB and never changes: a correction is a new version.
    </p>
    ${uploadCommands(baseUrl, 'organization').map(commandBox)}
    <form method="post" action="/static-tokens" class="stack">
      ${csrfField(session.csrfToken)}
      <input type="hidden" name="scopes" value="upload" />
      <input type="hidden" name="days" value="${days}" />
      <label
        >Name of a token that uploads
        <input name="name" maxlength="100" placeholder="The system that will use it" required />
      </label>
      <div class="buttons">
        <button class="button primary">Issue a token</button>
        <a class="button" href="/static-tokens">One that only reads</a>
      </div>
    </form>
  </section>`

/** A command to copy, with its label above. */
export const commandBox = ([label, text]: LabelledCommand): Html =>
  html`<p class="hint">${label}:</p>
    ${copyable(label, text)}`

/** Packages of one index, each with a link to its files. */
const packagesTable = (index: IndexName, packages: readonly ToolPackage[]): Html =>
  listTable(
    `${index === 'public' ? 'Public packages' : 'Packages of the organization'}`,
    ['Package', 'Latest upload', ['number', 'Versions'], ['number', 'Files'], ['number', 'Yanked']],
    packages.map(
      (each) =>
        html`<tr>
          <td class="lead">
            <a class="break" href="${packagePath(index, each.name)}">${each.name}</a>
            <span class="sub mono break">${each.lastVersion}</span>
          </td>
          <td data-label="Latest upload" class="quiet wide">${ago(each.lastUploadedAt)}</td>
          <td data-label="Versions" class="number">${count(each.versions)}</td>
          <td data-label="Files" class="number">${count(each.files)}</td>
          <td data-label="Yanked" class="number">${count(each.yankedFiles)}</td>
        </tr>`,
    ),
  )
