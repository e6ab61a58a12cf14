import { html, raw } from 'hono/html'
import type { Session } from '../../../platform/people/sessions.ts'
import type { Html } from './html.ts'

const FORM = /(<form\b[^>]*>)[^]*?<\/form>/g
const FORM_END = '</form>'
const BUTTON = /<a\b[^>]*\bclass="[^"]*\bbutton\b[^>]*>/g
const HREF = /\bhref="(\/[^"?#]*)/

/**
 * Shows a page as the role of its session may use it: forms that would be refused are disabled, and
 * buttons that lead to such a page are hidden. The page says so. All that others wrote is escaped
 * in it, so that every tag is one of ours.
 */
export function limitToRole(session: Session, body: Html): Html {
  if (session.role === 'admin') return body
  return body instanceof Promise
    ? body.then((markup) => limit(session, String(markup)))
    : limit(session, String(body))
}

function limit(session: Session, markup: string): Html {
  let isLimited = false
  const limited = markup
    .replaceAll(FORM, (form: string, start: string) => {
      if (isAllowed(session, start)) return form
      isLimited = true
      const content = form.slice(start.length, -FORM_END.length)
      return `${start}<fieldset class="off" disabled>${content}</fieldset>${FORM_END}`
    })
    .replaceAll(BUTTON, (button: string) => {
      const path = HREF.exec(button)?.[1]
      if (path === undefined || mayCall(session, 'GET', path)) return button
      return button.replace('<a', '<a hidden')
    })
  return html`${isLimited ? reason(session) : ''}${raw(limited)}`
}

/** What no route decides about is allowed. */
const mayCall = ({ mayCall: asks }: Session, method: string, path: string): boolean =>
  asks?.(method, path) ?? true

const isAllowed = (session: Session, start: string): boolean => {
  const path = /\baction="(\/[^"?#]*)/.exec(start)?.[1]
  const isPost = /\bmethod="post"/.test(start)
  return path === undefined || mayCall(session, isPost ? 'POST' : 'GET', path)
}

const reason = ({ organization, role }: Session): Html =>
  html`<p class="hint role-hint">
    Your role in ${organization || 'no organization'} is ${role ?? 'none'}: the forms that it does
    not allow are greyed out.
  </p>`
