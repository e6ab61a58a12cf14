import type { WebConfig } from '../env.ts'
import { createMailer } from './mailer.ts'
import type { Mailer } from './mailer.ts'

type MailConfig = Pick<WebConfig, 'SMTP_URL' | 'SMTP_FROM' | 'PLATFORM_BASE_URL'>

/** Creates the mailer of the settings; undefined without a mail server. */
export function openMailer(config: MailConfig): Mailer | undefined {
  const { SMTP_URL: url, SMTP_FROM, PLATFORM_BASE_URL } = config
  if (url === undefined) return undefined
  const from = SMTP_FROM ?? `crew-platform@${new URL(PLATFORM_BASE_URL).hostname}`
  return createMailer({ url, from })
}
