import { delayAlertMail, endAlertMail, takeAlertMails } from '../../platform/alerts/alert-mails.ts'
import type { AlertMail } from '../../platform/alerts/alert-mails.ts'
import { labelOf, withUnit } from '../../platform/alerts/watches.ts'
import { toError } from '../../shared/errors.ts'
import { keepTurning } from '../../shared/keep-turning.ts'
import type { WebDeps } from '../context.ts'
import { examplePath } from '../console/frame/addresses.ts'
import { versionPath } from '../console/projects/own-project.ts'
import type { Mailer } from './mailer.ts'

const LOOK_MS = 5000

interface MailDeps extends Pick<WebDeps, 'sql'> {
  readonly mailer: Mailer
  /** Where the links lead to. */
  readonly baseUrl: string
}

/** Sends mails about alerts for as long as it runs, beside other services that do. */
export const startAlertMails = (deps: MailDeps & Pick<WebDeps, 'log'>) =>
  keepTurning({
    name: 'sending mails about alerts',
    turn: () => sendAlertMails(deps),
    everyMs: LOOK_MS,
    log: deps.log,
  })

/**
 * Sends a few mails that are due; what fails is tried again later, under the same Message-ID.
 * Returns how many were due.
 */
export async function sendAlertMails({ sql, mailer, baseUrl }: MailDeps): Promise<number> {
  const due = await takeAlertMails(sql)
  const tries = due.map(async ({ to, ...mail }) => {
    try {
      if (to !== null) await mailer.send({ to, id: mail.id, ...textOf(mail, baseUrl) })
      await endAlertMail(sql, mail.id)
    } catch (thrown) {
      await delayAlertMail(sql, mail.id, toError(thrown).message)
    }
  })
  await Promise.all(tries)
  return due.length
}

function textOf(mail: Omit<AlertMail, 'to'>, baseUrl: string) {
  const { organization, at, runs } = mail
  const { subject, said, path } = subjectOf(mail)
  const links = runs.map((each) => baseUrl + examplePath(each))
  const isOfTraces = runs.some((each) => 'trace_id' in each)
  const lines = [
    ...said,
    `Organization ${organization}, ${at.toISOString()}.`,
    baseUrl + path,
    ...(links.length > 0 ? ['', `The worst ${isOfTraces ? 'traces' : 'runs'}:`, ...links] : []),
  ]
  return { subject, text: `${lines.join('\n')}\n` }
}

function subjectOf({ change, rollback }: Pick<AlertMail, 'change' | 'rollback'>) {
  if (rollback) {
    const { project, projectId: id, number, text } = rollback
    const subject = `Taken back: version ${number} of ${project}`
    return { subject, said: [text], path: versionPath({ id }, number) }
  }
  if (!change) throw new Error('a mail is about a change or a version')
  const { name, state, watches, value, threshold, samples, alertId } = change
  return {
    subject: `${state === 'firing' ? 'Firing' : 'Resolved'}: ${name}`,
    said: [
      `${labelOf(watches)}: ${withUnit(watches, value)}, of ${samples} looked at.`,
      `It fires at ${withUnit(watches, threshold)}.`,
    ],
    path: `/alerts/${alertId}`,
  }
}
