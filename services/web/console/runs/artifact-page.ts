import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import type { Run } from '../../../platform/runs/runs.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { runPath } from '../frame/addresses.ts'
import { icon } from '../frame/icons.ts'
import { page } from '../frame/layout.ts'
import type { Html } from '../frame/parts.ts'
import { formatOf } from '../frame/text/text-format.ts'
import { plainText, renderText } from '../frame/text/text-view.ts'
import { artifactPath, describeArtifact } from './artifacts-section.ts'
import { crumbs, wayTo } from './crumbs.ts'
import type { TextView } from './outcome-section.ts'
import { shortId } from '../frame/format.ts'

/** A file that a task of a run wrote. */
interface ArtifactPage {
  readonly session: Session
  readonly automation: Automation
  readonly run: Run
  readonly artifact: Artifact & { readonly content: string }
  readonly textView: TextView
}

/** The page that shows a file of a run. */
export function artifactPage({ session, automation, run, artifact, textView }: ArtifactPage): Html {
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
