import { html } from 'hono/html'
import type { Artifact } from '../../../platform/runs/run-artifacts.ts'
import { byteSize, count } from '../frame/format.ts'
import type { Html } from '../frame/parts.ts'

/** The files that the tasks of a run wrote; nothing when there are none. */
export function artifactsSection(artifacts: readonly Artifact[], runPath: string): Html | string {
  if (artifacts.length === 0) return ''
  return html`<section class="card" aria-labelledby="files">
    <div class="card-head"><h2 id="files">Files</h2></div>
    <dl class="facts">
      ${artifacts.map((artifact) => entry(artifact, artifactPath(runPath, artifact.name)))}
    </dl>
  </section>`
}

const entry = (artifact: Artifact, path: string): Html =>
  html`<dt><a href="${path}">${artifact.name}</a></dt>
    <dd>${describeArtifact(artifact)}</dd>`

/** Says who wrote a file, and how long it is. */
export function describeArtifact({ task, size, leftOut }: Artifact): string {
  const cut = leftOut > 0 ? `; ${count(leftOut)} characters more were left out` : ''
  return `Task ${task}, ${byteSize(size)}${cut}.`
}

/** Returns the address of the page that shows a file. */
export const artifactPath = (runPath: string, name: string): string =>
  `${runPath}/artifacts/${encodeURIComponent(name)}`
