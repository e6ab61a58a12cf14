import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { shellWord } from '../../../shared/shell-word.ts'
import { SOURCE_FIELD } from '../../intake/source-uploads/receive-source.ts'
import { copyable, csrfField, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { automationPath } from './own-crew.ts'

const NOT_SHUT_IN =
  'It runs as the person who started the platform, and reaches what they reach, the data of ' +
  'other organizations as well: deploy only what you trust.'

/** The field for an archive; a program that runs on this machine is not shut in. */
export const sourceField = (runsHere: boolean): Html =>
  html`<label
      >Source
      <input
        name="${SOURCE_FIELD}"
        type="file"
        accept=".zip,.gz,.tgz,.tar"
        required
        aria-describedby="source-hint"
      />
    </label>
    <p class="hint under" id="source-hint">
      The folder of a CrewAI project or another Python program as .zip or .tar.gz, of at most 64
      MiB. Environments, caches, <span class="mono">.git</span> and
      <span class="mono">.env</span> are left out. ${runsHere ? NOT_SHUT_IN : ''}
    </p>`

interface DeployForm {
  readonly session: Session
  readonly automation: Automation
  readonly apiUrl: string
  readonly problem?: string | undefined
  /** Programs run as processes of this machine. */
  readonly runsHere: boolean
}

/** The form that deploys another source, and how to do the same without a browser. */
export const deploySection = ({
  session,
  automation,
  apiUrl,
  problem,
  runsHere,
}: DeployForm): Html =>
  html`<section class="card" aria-labelledby="deploy">
    <div class="card-head"><h2 id="deploy">Deploy a source</h2></div>
    ${problemBox(problem)}
    <form
      method="post"
      action="${automationPath(automation)}/deployments"
      enctype="multipart/form-data"
      class="stack"
    >
      ${csrfField(session.csrfToken)} ${sourceField(runsHere)}
      <div class="buttons"><button class="button primary">Deploy</button></div>
    </form>
    <details class="more">
      <summary>From a terminal</summary>
      <p class="hint">
        In the folder of the project, with a token of your organization in
        <code>TOKEN</code>:
      </p>
      ${copyable('Command that deploys', curlLine(apiUrl))}
      <p class="hint">
        A checkout of the platform has a task that packs a folder, and follows the deployment until
        it is online:
      </p>
      ${copyable('Task that deploys', taskLine(apiUrl))}
    </details>
  </section>`

const curlLine = (apiUrl: string): string =>
  [
    "tar czf - --exclude .venv --exclude __pycache__ --exclude .git --exclude '.env*' . | curl \\",
    '  --fail-with-body -H "Authorization: Bearer $TOKEN" \\',
    `  -F 'source=@-;filename=source.tar.gz' ${shellWord(`${apiUrl}/deployments`)}`,
  ].join('\n')

const taskLine = (apiUrl: string): string =>
  `PLATFORM_TOKEN=$TOKEN npm run task -- automations:deploy DIR --to ${shellWord(apiUrl)}`
