import type { Actor } from '../../platform/audit/audit.ts'
import { toError } from '../../shared/errors.ts'
import type { WebDeps } from '../context.ts'

/** A link that somebody is to get. */
export interface LinkMail {
  readonly to: string
  readonly subject: string
  /** What the link does, how often and for how long. */
  readonly text: string
  readonly url: string
}

/** What became of the mail with a link. */
export interface MailedLink {
  readonly to: string
  readonly isSent: boolean
}

interface MailedSecret {
  readonly mail?: Omit<LinkMail, 'url'>
  /** The link. */
  readonly secret?: string
}

/** Sends the mail of a secret that is a link, if there is to be one, and says what became of it. */
export async function withMail<Made extends MailedSecret>(
  acting: Parameters<typeof mailLink>[0],
  deps: Pick<WebDeps, 'mailer' | 'log'>,
  made: Made,
): Promise<Made & { readonly mailed: MailedLink | undefined }> {
  const { mail, secret: url = '' } = made
  return { ...made, mailed: mail && (await mailLink(acting, deps, { ...mail, url })) }
}

/**
 * Sends a link by mail. A mail that fails loses nothing: whoever made the link is shown it all the
 * same. Returns undefined without a mail server, or without somebody to send to.
 */
async function mailLink(
  { actor: { requestId } }: { readonly actor: Pick<Actor, 'requestId'> },
  { mailer, log }: Pick<WebDeps, 'mailer' | 'log'>,
  { to, subject, text, url }: LinkMail,
): Promise<MailedLink | undefined> {
  if (!mailer || to === '') return undefined
  try {
    await mailer.send({ to, subject, text: `${text}\n\n${url}\n` })
    return { to, isSent: true }
  } catch (thrown) {
    const reason = toError(thrown).message
    log.warn({ request_id: requestId, reason }, 'a mail with a link was not sent')
    return { to, isSent: false }
  }
}
