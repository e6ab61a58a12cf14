import { html } from 'hono/html'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ToolFile } from '../../../platform/tools/tool-packages.ts'
import { byteSize } from '../frame/format.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import { ago, csrfField, listTable, noticeBox, pill } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { installCommands } from './commands.ts'
import type { IndexName } from './commands.ts'
import { commandBox } from './list-page.ts'
import { filePath, packagePath, PACKAGES_PATH } from './paths.ts'

/** The files of a package, by page. */
interface PackagePage {
  readonly session: Session
  readonly baseUrl: string
  readonly index: IndexName
  readonly name: string
  readonly page: Page<ToolFile>
  readonly request: PageRequest
  /** Whether the organization fills this index. */
  readonly isOwn: boolean
  readonly notice?: string | undefined
}

/** A package: its versions and files, and how to install it. */
export function packagePage(view: PackagePage): Html {
  const { session, baseUrl, index, name, page, request, notice } = view
  const list = { path: packagePath(index, name), noun: 'file', page, request }
  const ofWhom = index === 'public' ? ', public' : ` of ${session.organization}`
  return frame(
    { title: name, session, current: PACKAGES_PATH },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${PACKAGES_PATH}">Tool packages</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>${name}</h1>
          <p class="hint">${countLine(list, ofWhom)}</p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)}
      <section class="card flush" aria-label="Files">
        ${page.items.length > 0 ? filesTable(view) : nothingHere(list)}
      </section>
      ${pager(list)}
      <section class="card" aria-labelledby="install">
        <div class="card-head"><h2 id="install">Install it</h2></div>
        ${installCommands(baseUrl, index, name).map(commandBox)}
        ${index === 'public' ? '' : readHint()}
      </section>`,
  )
}

const readHint = (): Html =>
  html`<p class="hint">
    TOKEN is a token of the organization that may read.
    <a href="${PACKAGES_PATH}#publish">Issue one</a>. Crews from source need none: name the package
    in their dependencies.
  </p>`

const filesTable = (view: PackagePage): Html =>
  listTable(
    `Files of ${view.name}`,
    [
      'File',
      'State',
      'Python',
      ['number', 'Size'],
      'SHA-256',
      'Uploaded',
      ...(view.isOwn ? [['unseen', 'Action'] as const] : []),
    ],
    view.page.items.map((file) => fileRow(file, view)),
  )

function fileRow(file: ToolFile, { isOwn, session }: PackagePage): Html {
  const { version, filename, requiresPython, size, sha256, createdAt, yankedReason } = file
  const digest = sha256.toString('hex')
  return html`<tr>
    <td class="lead">${version} <span class="sub mono break">${filename}</span></td>
    <td data-label="State" class="row-wide">
      ${yankedReason === null ? pill('good', 'Good') : pill('idle', 'Yanked')}
      ${yankedReason ? html`<span class="sub break">${yankedReason}</span>` : ''}
    </td>
    <td data-label="Python" class="mono">${requiresPython ?? 'Any'}</td>
    <td data-label="Size" class="number">${byteSize(size)}</td>
    <td data-label="SHA-256"><span class="mono" title="${digest}">${digest.slice(0, 12)}</span></td>
    <td data-label="Uploaded" class="quiet wide">
      ${ago(createdAt)} ${isOwn ? html`<span class="sub break">${uploader(file)}</span>` : ''}
    </td>
    ${isOwn ? html`<td class="action">${action(file, session.csrfToken)}</td>` : ''}
  </tr>`
}

/** Tokens come and go: the name is of help where the token is still listed. */
function uploader({ tokenName, tokenLastFour, issuedBy }: ToolFile): string {
  if (tokenName === null) return 'Without a token'
  return `${tokenName} (pat_…${tokenLastFour}${issuedBy === null ? '' : `, of ${issuedBy}`})`
}

const action = ({ id, filename, yankedReason }: ToolFile, csrfToken: string): Html =>
  yankedReason === null
    ? html`<a
        class="button danger small"
        href="${filePath(id, 'yank')}"
        aria-label="Yank ${filename}"
        >Yank</a
      >`
    : html`<form method="post" action="${filePath(id, 'unyank')}">
        ${csrfField(csrfToken)}
        <button class="button small" aria-label="Un-yank ${filename}">Un-yank</button>
      </form>`
