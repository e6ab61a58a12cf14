import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SourceRepository } from '../../../platform/crews/source-repositories.ts'
import { page } from '../frame/layout.ts'
import { copyable, csrfField, noticeBox, problemBox, time, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { automationPath } from './own-crew.ts'
import type { OwnCrew } from '../../api/crews/own-crew.ts'
import { crumbs, postButton } from './parts.ts'

/** A repository as it was typed. */
export interface TypedRepository {
  readonly url: string
  readonly ref: string
  readonly directory: string
}

/** The page of a repository, as its routes read it. */
interface RepositoryPage {
  readonly session: Session
  readonly crew: OwnCrew
  readonly repository: SourceRepository | undefined
  readonly webhookUrl: string
  /** What is said of one that files keep. */
  readonly managed: Html | string
  readonly notice?: string | undefined
  /** Why the form was refused. */
  readonly problem?: string | undefined
  readonly typed?: TypedRepository | undefined
  /** A new secret, which is shown this once. */
  readonly secret?: string | undefined
}

/** The page of the Git repository that an automation is made from. */
export function repositoryPage(view: RepositoryPage): Html {
  const { session, crew, notice } = view
  const { automation } = crew
  return page(
    { title: `Git repository of ${automation.name}`, session, current: '/automations' },
    html`${crumbs(automation)} ${noticeBox(notice)}
      <div class="page-head"><h1>Git repository of ${automation.name}</h1></div>
      ${view.managed} ${view.repository ? pullSection(view, view.repository) : ''}
      ${formSection(view)} ${view.repository ? webhookSection(view, view.repository) : ''}`,
  )
}

/** The automation whose pull is shown, and to whom. */
type PullSection = Pick<RepositoryPage, 'session' | 'crew'>

const pathOf = ({ crew }: PullSection): string =>
  `${automationPath(crew.automation)}/crew-repository`

/** The last pull; the script of the console asks for it again while there is one. */
export function pullSection(view: PullSection, repository: SourceRepository): Html {
  const { lastCommit, pulledAt, failure, failedAt, isPulling } = repository
  return html`<div
    data-live="${isPulling ? `${pathOf(view)}/live` : ''}"
    data-say="${isPulling ? 'Pulling' : failure ? 'The pull has failed' : 'Pulled'}"
  >
    <section class="card" aria-labelledby="pull" data-part="pull">
      <div class="card-head"><h2 id="pull">Last pull</h2></div>
      ${failure && failedAt ? warningBox(html`${failure} (${time(failedAt)})`) : ''}
      <p>
        ${
          pulledAt && lastCommit
            ? html`Commit <span class="mono">${lastCommit.slice(0, 12)}</span>, ${time(pulledAt)}.`
            : 'Nothing was pulled yet.'
        }
        ${isPulling ? 'A worker is pulling it.' : ''}
      </p>
      <p class="hint">A commit that is deployed already is not deployed again.</p>
      <div class="buttons">
        ${postButton(view.session, { action: `${pathOf(view)}/pull`, text: 'Pull now' })}
        ${
          isPulling
            ? html`<a class="button" href="${pathOf(view)}" data-without-script>Refresh</a>`
            : ''
        }
      </div>
    </section>
  </div>`
}

function formSection(view: RepositoryPage): Html {
  const { session, problem, repository } = view
  const typed = view.typed ?? {
    url: repository?.url ?? '',
    ref: repository?.ref ?? 'main',
    directory: repository?.directory ?? '',
  }
  return html`<section class="card" aria-labelledby="repository">
    <div class="card-head"><h2 id="repository">From a Git repository</h2></div>
    ${problemBox(problem)}
    <form method="post" action="${pathOf(view)}" class="stack">
      ${csrfField(session.csrfToken)}
      <label
        >Address
        <input name="url" type="url" class="mono" value="${typed.url}" maxlength="2000" required />
      </label>
      <label
        >Branch or tag
        <input name="ref" class="mono" value="${typed.ref}" maxlength="255" required />
      </label>
      <label
        >Folder of the project
        <input name="directory" class="mono" value="${typed.directory}" maxlength="500" />
      </label>
      <p class="hint">Empty: the whole repository. Submodules and Git LFS are not fetched.</p>
      ${tokenFields(repository)}
      <div class="buttons"><button class="button primary">Save</button></div>
    </form>
    ${
      repository
        ? finalForm(session, {
            action: `${pathOf(view)}/delete`,
            what: 'Remove the repository and its secrets',
            verb: 'Remove for good',
          })
        : ''
    }
  </section>`
}

const tokenFields = (repository: SourceRepository | undefined): Html =>
  html`<label
      >Access token
      <input name="token" type="password" maxlength="4096" autocomplete="off" />
    </label>
    <p class="hint">
      ${
        repository?.hasToken
          ? 'One is saved. Empty: it stays, unless the host is another.'
          : 'Only for a private repository; one that may read it is enough.'
      }
      Where the server asks for a user name as well, write <span class="mono">name:token</span>.
    </p>
    ${
      repository?.hasToken
        ? html`<label class="tick"
            ><input type="checkbox" name="no_token" value="yes" /> Forget the token</label
          >`
        : ''
    }`

const webhookSection = (view: RepositoryPage, { hasWebhook, ref }: SourceRepository): Html =>
  html`<section class="card" aria-labelledby="webhook">
    <div class="card-head"><h2 id="webhook">Deploy each push</h2></div>
    <p>
      Add a webhook for pushes at GitHub, GitLab, Gitea or Forgejo, with this address and the
      secret. Pushes to <span class="mono">${ref}</span> are pulled then.
    </p>
    ${copyable('Address of the webhook', view.webhookUrl)}
    ${
      view.secret === undefined
        ? ''
        : html`<p>This is its secret. It is not shown again:</p>
            ${copyable('Secret of the webhook', view.secret)}`
    }
    <div class="buttons">
      ${postButton(view.session, {
        action: `${pathOf(view)}/webhook`,
        text: hasWebhook ? 'Replace the secret' : 'Make a secret',
      })}
      ${
        hasWebhook
          ? finalForm(view.session, {
              action: `${pathOf(view)}/webhook/delete`,
              what: 'Remove the webhook',
              verb: 'Remove for good',
            })
          : ''
      }
    </div>
  </section>`
