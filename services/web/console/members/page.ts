import type { Context } from 'hono'
import { html } from 'hono/html'
import type { Invitation } from '../../../platform/people/invitations.ts'
import { INVITATION_DAYS } from '../../../platform/people/invitations.ts'
import type { Member } from '../../../platform/people/members.ts'
import type { Page, PageRequest } from '../../../shared/postgres/paging.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { SignedIn } from '../../context.ts'
import { MEMBERS_PATH, OAUTH_PATH } from '../frame/addresses.ts'
import { page as frame } from '../frame/layout.ts'
import { countLine, nothingHere, pager, searchBox } from '../frame/lists/pager.ts'
import { csrfField, noticeBox, problemBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { roleOptions } from '../frame/roles.ts'
import type { TypedInvitation } from './fields.ts'
import { invitationsSection } from './invitations-section.ts'
import { membersTable } from './table.ts'

/** One page of the members of an organization, with its open invitations. */
export interface MembersPage {
  readonly session: Session
  readonly page: Page<Member>
  readonly request: PageRequest
  readonly invitations: readonly Invitation[]
  /** Links can be sent by mail. */
  readonly hasMail: boolean
  readonly notice?: string | undefined
  /** The problem with what was just asked for. */
  readonly problem?: string | undefined
  /** An invitation that was typed and has a problem. */
  readonly typed?: TypedInvitation | undefined
}

/** What a page of members shows beside them. */
type Shown = Pick<MembersPage, 'problem' | 'typed'>

/** Reads the page of the members of the session's organization. */
export type ReadMembersPage = (c: Context<SignedIn>, shown?: Shown) => Promise<MembersPage>

/** Settings → Organization → Members. */
export function membersPage(view: MembersPage): Html {
  const { session, page, request, invitations, notice, problem } = view
  const list = { path: MEMBERS_PATH, noun: 'member', page, request }
  const isAdmin = session.role === 'admin'
  return frame(
    { title: 'Members', session, current: MEMBERS_PATH },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="${OAUTH_PATH}">Settings</a><a href="${MEMBERS_PATH}">Organization</a>
      </nav>
      <div class="page-head">
        <div>
          <h1>Members</h1>
          <p class="hint">${countLine(list, ` of ${session.organization}`)}</p>
        </div>
        ${searchBox(list)}
      </div>
      ${noticeBox(notice)} ${problemBox(problem)}
      <section class="card flush" aria-label="Members">
        ${page.items.length > 0 ? membersTable(session, page.items) : nothingHere(list)}
      </section>
      ${pager(list)}
      ${isAdmin ? html`${invitationsSection(session, invitations)} ${inviteForm(view)}` : ''}`,
  )
}

const inviteForm = ({ session, typed, hasMail }: MembersPage): Html =>
  html`<section class="card narrow" aria-labelledby="invite">
    <div class="card-head"><h2 id="invite">Invite a person</h2></div>
    <p class="hint">
      You get a link to hand over. The first person who opens it, within ${INVITATION_DAYS} days,
      becomes a member of ${session.organization}, with an account that they have or with a new one.
    </p>
    <form method="post" action="/settings/organization/invitations" class="stack">
      ${csrfField(session.csrfToken)}
      <label
        >Role
        <select name="role">
          ${roleOptions(typed?.role ?? 'viewer')}
        </select>
      </label>
      <label
        >For whom
        <input
          name="note"
          value="${typed?.note ?? ''}"
          maxlength="200"
          autocomplete="off"
          placeholder="Such as grace@example.com"
          aria-describedby="note-hint"
        />
      </label>
      <p class="hint under" id="note-hint">Only for this list; it may stay empty.</p>
      ${
        hasMail
          ? html`<label
              >Send the link to
              <input
                name="email"
                type="email"
                value="${typed?.email ?? ''}"
                maxlength="254"
                autocomplete="off"
                placeholder="None"
              />
            </label>`
          : ''
      }
      <div><button class="button primary">Create the link</button></div>
    </form>
  </section>`
