import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { OwnToolFile } from '../../../platform/tools/tool-packages.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { filePath, packagePath, PACKAGES_PATH } from './paths.ts'

/** A file that is to be yanked. */
interface YankPage {
  readonly session: Session
  readonly file: OwnToolFile
  readonly reason: string
  readonly problem?: string
}

/** The question whether to yank a file, with the field for the reason. */
export function yankPage({ session, file, reason, problem }: YankPage): Html {
  const back = packagePath(file.isPublic ? 'public' : 'organization', file.name)
  const title = `Yank ${file.filename}?`
  return page(
    { title, session, current: PACKAGES_PATH },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${PACKAGES_PATH}">Tool packages</a><a href="${back}">${file.name}</a>
      </nav>
      <div class="card lone">
        <h1 class="break">${title}</h1>
        ${problemBox(problem)}
        <p>
          Installers skip a yanked file, unless they ask for exactly its version. It is not deleted,
          and can be made good again.
        </p>
        <form method="post" action="${filePath(file.id, 'yank')}" class="stack">
          ${csrfField(session.csrfToken)}
          <label
            >Reason
            <input
              name="reason"
              value="${reason}"
              maxlength="200"
              placeholder="What installers show, such as: broken on Python 3.13"
              autocomplete="off"
            />
          </label>
          <div class="buttons">
            <button class="button danger">Yank</button>
            <a class="button" href="${back}">Cancel</a>
          </div>
        </form>
      </div>`,
  )
}
