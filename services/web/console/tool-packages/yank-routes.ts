import type { Context, Hono } from 'hono'
import { findOwnToolFile } from '../../../platform/tools/tool-packages.ts'
import type { OwnToolFile } from '../../../platform/tools/tool-packages.ts'
import { isYankReason, setYanked } from '../../../platform/tools/tools.ts'
import { AppError } from '../../../shared/errors.ts'
import { toolEntry } from '../../gate/callers/audit-entries.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { isIdCursor } from '../frame/lists/page-request.ts'
import { PACKAGES_PATH, filePath, packagePath } from './paths.ts'
import { createRoom } from '../frame/room.ts'
import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import { page } from '../frame/layout.ts'
import { csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** Yanks files and makes them good again (PEP 592). */
export function yankRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const audited = createAudited(sql)
  const room = createRoom(deps, {
    'tool-yanked':
      'The file is yanked. Installers skip it, unless they ask for exactly its version.',
    'tool-unyanked': 'The file is no longer yanked. Installers may choose it.',
  })
  const file = `${PACKAGES_PATH}/files/:fileId`

  room.page('editor', `${file}/yank`, async (c) => {
    const own = await getFile(c)
    return c.html(yankPage({ session: c.var.session, file: own, reason: '' }))
  })

  room.form('editor', `${file}/yank`, async (c) => {
    const own = await getFile(c)
    const reason = (c.var.form.get('reason') ?? '').trim()
    if (!isYankReason(reason)) {
      const problem = 'The reason is one line of at most 200 characters.'
      return c.html(yankPage({ session: c.var.session, file: own, reason, problem }), 422)
    }
    return change(c, own, reason)
  })

  room.form('editor', `${file}/unyank`, async (c) => change(c, await getFile(c), null))

  async function change(
    c: Context<SignedIn>,
    { name, filename, repositoryId, isPublic, yankedReason }: OwnToolFile,
    reason: string | null,
  ): Promise<Response> {
    const [action, notice] =
      reason === null ? ['tool_unyanked', 'tool-unyanked'] : ['tool_yanked', 'tool-yanked']
    await audited(
      c.var,
      (tx) => setYanked(tx, { repositoryId, filename }, reason),
      (isThere) =>
        isThere
          ? { ...toolEntry(action, filename, { reason }), before: { reason: yankedReason } }
          : undefined,
    )
    const path = packagePath(isPublic ? 'public' : 'organization', name)
    return c.redirect(`${path}?notice=${notice}`, 303)
  }

  async function getFile(c: Context<SignedIn>): Promise<OwnToolFile> {
    const { organizationId } = c.var.session.user
    const text = c.req.param('fileId') ?? ''
    const id = isIdCursor(text) ? Number(text) : undefined
    const found = id === undefined ? undefined : await findOwnToolFile(sql, { id, organizationId })
    if (found) return found
    throw new AppError('not_found', 'Your organization has no such file.')
  }

  return room.routes
}

/** A file that is to be yanked. */
interface YankPage {
  readonly session: Session
  readonly file: OwnToolFile
  readonly reason: string
  readonly problem?: string
}

/** The question whether to yank a file, with the field for the reason. */
function yankPage({ session, file, reason, problem }: YankPage): Html {
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
