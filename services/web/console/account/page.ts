import type { Context } from 'hono'
import { html } from 'hono/html'
import type { ListedSession, Session } from '../../../platform/people/sessions.ts'
import type { SignedIn } from '../../context.ts'
import { page } from '../frame/layout.ts'
import { noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { organizationsSection } from './organizations-section.ts'
import { sessionsSection } from './sessions-section.ts'

/** The account of whoever is signed in. */
interface AccountPage {
  readonly session: Session
  readonly sessions: readonly ListedSession[]
  readonly notice?: string | undefined
  readonly problem?: string | undefined
}

/** Reads the account of whoever is signed in. */
export type ReadAccountPage = (c: Context<SignedIn>, problem?: string) => Promise<AccountPage>

/** A person's organizations and sessions. */
export function accountPage({ session, sessions, notice, problem }: AccountPage): Html {
  const { user, isLocal } = session
  return page(
    { title: 'Your account', session },
    html`<div class="page-head">
        <div>
          <h1 class="break">${user.name}</h1>
          <p class="hint">${user.email ?? 'Known by the identity provider'}</p>
        </div>
        ${isLocal ? html`<a class="button push" href="/account/password">Change password</a>` : ''}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)} ${organizationsSection(session)}
      ${sessionsSection(session, sessions)}`,
  )
}
