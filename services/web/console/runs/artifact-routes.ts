import type { Context, Hono } from 'hono'
import { html } from 'hono/html'
import { findArtifact } from '../../../platform/runs/run-artifacts.ts'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import { AppError } from '../../../shared/errors.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { sendFile } from '../../http/send-file.ts'
import { getOwnRun } from '../frame/own-automation.ts'
import { createRoom } from '../frame/room.ts'
import { runPath } from '../frame/addresses.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import type { Html } from '../frame/parts.ts'
import { formatOf } from '../frame/text/text-format.ts'
import { plainText, renderText } from '../frame/text/text-view.ts'
import { shortId } from '../frame/format.ts'
import { artifactPath, describeArtifact } from './artifacts-section.ts'
import { crumbs, wayTo } from './crumbs.ts'
import type { TextView } from './outcome-section.ts'

/** Shows and sends the files that the tasks of a run wrote. */
export function artifactRoutes(deps: WebDeps): Hono<SignedIn> {
  const { sql } = deps
  const room = createRoom(deps)
  const path = '/automations/:automationId/executions/:kickoffId/artifacts/:name'

  room.page('viewer', path, async (c) => {
    const found = await getOwnArtifact(c, sql)
    const textView = c.req.query('view') === 'raw' ? 'raw' : 'rendered'
    return c.html(artifactPage({ session: c.var.session, ...found, textView }))
  })

  room.page('viewer', `${path}/content`, async (c) =>
    sendFile(c, (await getOwnArtifact(c, sql)).artifact),
  )

  return room.routes
}

async function getOwnArtifact(c: Context<SignedIn>, sql: Database) {
  const { automation, run } = await getOwnRun(c, sql)
  const artifact = await findArtifact(sql, run.id, c.req.param('name') ?? '')
  if (artifact) return { automation, run, artifact }
  throw new AppError('not_found', 'This run wrote no such file.')
}

/** A file that a task of a run wrote. */
interface ArtifactPage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly artifact: Artifact & { readonly content: string }
  readonly textView: TextView
}

/** The page that shows a file of a run. */
function artifactPage({ session, automation, run, artifact, textView }: ArtifactPage): Html {
  const { name, content } = artifact
  const back = runPath(automation, run)
  const path = artifactPath(back, name)
  const view = (each: TextView, text: string): Html =>
    html`<a href="${path}?view=${each}" ${each === textView ? html`aria-current="true"` : ''}
      >${text}</a
    >`
  return page(
    { title: name, session, current: '/executions' },
    html`${crumbs([...wayTo(automation), { path: back, name: shortId(run.id) }])}
      <div class="page-head"><h1>${name}</h1></div>
      <section class="card" aria-labelledby="content">
        <div class="card-head">
          <h2 id="content">Content</h2>
          <div class="output-actions" data-copy-from="${path}/content">
            ${
              formatOf(content) === 'plain'
                ? ''
                : html`<nav class="switch" aria-label="View of the file">
                    ${view('rendered', 'Rendered')}${view('raw', 'Raw')}
                  </nav>`
            }
            <a class="button small" href="${path}/content"
              >${icon('download')}<span>Download</span></a
            >
          </div>
        </div>
        <p class="hint">${describeArtifact(artifact)}</p>
        <div class="output" tabindex="0" role="group" aria-label="Content">
          ${textView === 'raw' ? plainText(content) : renderText(content)}
        </div>
      </section>`,
  )
}
