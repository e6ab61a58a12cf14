import { html } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Role } from '../../../platform/people/users.ts'
import { account } from './account.ts'
import { getAssets } from './assets.ts'
import { icon } from './icons.ts'
import type { IconName } from './icons.ts'
import { limitToRole } from './limit-to-role.ts'
import type { Html } from './parts.ts'

/** The head of a page, and its place in the navigation. */
export interface Frame {
  readonly title: string
  readonly session: Session
  /** The entry of the navigation that this page belongs to. */
  readonly current?: string
  /** The script of the page, beside that of the console. */
  readonly script?: PageScript
}

/** A script of one page. */
type PageScript = 'traceScript' | 'tracesScript' | 'editorScript'

interface Entry {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  /** The role that the entry is for. @default everyone */
  readonly role?: Role
  /** Only for admins of the organization. */
  readonly isOfAdmins?: true
  /** The name of the group that begins with it. */
  readonly group?: string
  /** Only where there is a trace collector. */
  readonly isOfTraces?: true
}

const NAVIGATION: readonly Entry[] = [
  { path: '/', name: 'Dashboard', icon: 'dashboard', group: 'Work' },
  { path: '/automations', name: 'Automations', icon: 'automations' },
  { path: '/projects', name: 'Projects', icon: 'pen' },
  { path: '/executions', name: 'Runs', icon: 'runs' },
  { path: '/approvals', name: 'Approvals', icon: 'check' },
  { path: '/traces', name: 'Traces', icon: 'waterfall', isOfTraces: true },
  { path: '/budgets', name: 'Budgets', icon: 'gauge', group: 'Organization' },
  { path: '/alerts', name: 'Alerts', icon: 'alert' },
  { path: '/llm-connections', name: 'LLM connections', icon: 'link' },
  { path: '/connections', name: 'Connections', icon: 'plug' },
  { path: '/tools-packages', name: 'Tool packages', icon: 'package' },
  { path: '/static-tokens', name: 'Tokens', icon: 'key' },
  { path: '/settings/organization/members', name: 'Members', icon: 'people' },
  { path: '/settings', name: 'Settings', icon: 'settings' },
  { path: '/audit', name: 'Audit', icon: 'history', isOfAdmins: true },
  { path: '/erasures', name: 'Erasures', icon: 'eraser', isOfAdmins: true },
  {
    path: '/admin/platform_health',
    name: 'Platform health',
    icon: 'pulse',
    role: 'platform-admin',
    group: 'Platform',
  },
  { path: '/admin/organizations', name: 'Organizations', icon: 'building', role: 'platform-admin' },
  { path: '/admin/users', name: 'Users', icon: 'person', role: 'platform-admin' },
  {
    path: '/admin/feature-flags',
    name: 'Feature flags',
    icon: 'flag',
    role: 'platform-admin',
  },
]

const entriesFor = ({ user, hasTraces, role: own }: Session): readonly Entry[] =>
  NAVIGATION.filter(
    ({ role, isOfTraces, isOfAdmins }) =>
      (role === undefined || user.roles.includes(role)) &&
      (hasTraces || !isOfTraces) &&
      (own === 'admin' || !isOfAdmins),
  )

/** A page for people who are signed in, with the navigation around it. */
export function page(frame: Frame, body: Html): Html {
  const { title, session, current, script } = frame
  const isCompact = session.isCompact ?? false
  return shell(
    { title, isCompact, scripts: script ? ['script', script] : ['script'] },
    html`<a class="skip" href="#main">Skip to content</a>
      <div class="frame">
        <header class="side">
          <div class="side-inner">
            <button class="menu-button" type="button" popovertarget="main-menu">
              ${icon('menu')}<span class="unseen">Menu</span>${waiting(session)}
            </button>
            <a class="brand" href="/">${mark()}<span>Crew Platform</span></a>
            <a class="find" href="/find" data-palette>${icon('search')}<span>Search</span></a>
            <nav id="main-menu" aria-label="Main" popover>
              ${entriesFor(session).map(
                (entry) =>
                  html`${entry.group ? html`<span class="group">${entry.group}</span>` : ''}<a
                      href="${entry.path}"
                      ${entry.path === current ? html`aria-current="page"` : ''}
                      >${icon(entry.icon)}<span>${entry.name}</span>${
                        entry.path === '/approvals' ? waiting(session) : ''
                      }</a
                    >`,
              )}
            </nav>
            ${account(session)}
          </div>
        </header>
        <main id="main" tabindex="-1">${limitToRole(session, body)}</main>
      </div>
      <div id="announcer" class="unseen" aria-live="polite"></div>`,
  )
}

/** How many approvals wait, in the navigation and on the button that opens it on a phone. */
const waiting = ({ approvals }: Session): Html | string =>
  approvals === 0
    ? ''
    : html` <span class="badge"
        >${approvals < 100 ? approvals : '99+'}<span class="unseen"> waiting</span></span
      >`

/**
 * A page without navigation: one card in the middle. With `goTo` the browser moves on to that
 * address by itself.
 */
export function plainPage(title: string, body: Html, { goTo }: { goTo?: string } = {}): Html {
  return shell(
    { title, goTo },
    html`<main class="plain">
      <div class="plain-brand">${mark()}<span>Crew Platform</span></div>
      <div class="card">${body}</div>
    </main>`,
  )
}

interface Head {
  readonly title: string
  readonly scripts?: readonly ('script' | PageScript)[]
  readonly goTo?: string | undefined
  /** Lists have little room between their rows. */
  readonly isCompact?: boolean
}

function shell({ title, scripts = [], goTo, isCompact = false }: Head, body: Html): Html {
  const { stylesheet, icon: favicon, font, ...others } = getAssets()
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        ${goTo ? html`<meta http-equiv="refresh" content="0;url=${goTo}" />` : ''}
        <title>${title} · Crew Platform</title>
        <link rel="preload" href="${font.path}" as="font" type="font/woff2" crossorigin />
        <link rel="stylesheet" href="${stylesheet.path}" />
        ${scripts.map((name) => html`<script type="module" src="${others[name].path}"></script>`)}
        <link rel="icon" type="image/svg+xml" href="${favicon.path}" />
      </head>
      <body ${isCompact ? html`class="compact"` : ''}>
        ${body}
      </body>
    </html>`
}

const mark = (): Html =>
  html`<img class="mark" src="${getAssets().icon.path}" alt="" width="28" height="28" />`
