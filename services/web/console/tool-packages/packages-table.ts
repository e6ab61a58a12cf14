import { html } from 'hono/html'
import type { ToolPackage } from '../../../platform/tools/tool-packages.ts'
import { count } from '../frame/format.ts'
import { listTable, time } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import type { IndexName } from './commands.ts'
import { packagePath } from './paths.ts'

/** Packages of one index, each with a link to its files. */
export const packagesTable = (index: IndexName, packages: readonly ToolPackage[]): Html =>
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
          <td data-label="Latest upload" class="quiet wide">${time(each.lastUploadedAt)}</td>
          <td data-label="Versions" class="number">${count(each.versions)}</td>
          <td data-label="Files" class="number">${count(each.files)}</td>
          <td data-label="Yanked" class="number">${count(each.yankedFiles)}</td>
        </tr>`,
    ),
  )
