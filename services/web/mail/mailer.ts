import { createTransport } from 'nodemailer'
import { deadline } from '../../shared/deadline.ts'

const SEND_MS = 10_000
const ADDRESS_MAX = 254
const ADDRESS = /^[^\s@<>()[\]\\,;:"\p{Cc}]+@[^\s@<>()[\]\\,;:"\p{Cc}]+$/u

/** One mail of plain text. */
interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Makes its Message-ID, for a mail that may be sent again. @default a random one */
  readonly id?: string
}

/** Sends mails. */
export interface Mailer {
  /** Resolves when the server has taken the mail. Raises `timeout`, and what the server says. */
  readonly send: (mail: Mail) => Promise<void>
}

/** Options of `createMailer`. */
interface MailerOptions {
  /**
   * `smtps://user:password@host:465`, or `smtp://host:587`, which begins TLS too unless its query
   * has `tls=off`.
   */
  readonly url: string
  /** The sender. */
  readonly from: string
  /** @default 10_000 */
  readonly timeoutMs?: number
}

/** Creates a mailer for the server of the operator. Each mail has a connection of its own. */
export function createMailer({ url, from, timeoutMs = SEND_MS }: MailerOptions): Mailer {
  const { protocol, hostname, port, username, password, searchParams } = new URL(url)
  const isImplicit = protocol === 'smtps:'
  const isPlain = !isImplicit && searchParams.get('tls') === 'off'
  const user = decodeURIComponent(username)
  const settings = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (isImplicit ? 465 : 587),
    secure: isImplicit,
    requireTLS: !isPlain,
    ignoreTLS: isPlain,
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(password) } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  return {
    async send({ to, subject, text, id }) {
      const messageId = id && { messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>` }
      const transport = createTransport(settings)
      try {
        await deadline({ name: 'mail server', timeoutMs }, () =>
          transport.sendMail({ from, to: { name: '', address: to }, subject, text, ...messageId }),
        )
      } finally {
        transport.close()
      }
    },
  }
}

/** Returns true for one address that a mail can be sent to. */
export const isMailAddress = (text: string): boolean =>
  text.length <= ADDRESS_MAX && ADDRESS.test(text)

/** Returns true for the address of a mail server as `createMailer` takes it. */
export function isMailUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname } = new URL(text)
  return ['smtp:', 'smtps:'].includes(protocol) && hostname !== '' && pathname.length <= 1
}
