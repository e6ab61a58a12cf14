import { declareCodes } from './failure-code.ts'
import { warning } from './finding.ts'
import type { Warning } from './finding.ts'
import type { HttpAnswer } from './http-get.ts'

/** As much as is granted to tokens. */
const SKEW_MS_MAX = 30_000
const DAY_MS = 86_400_000
const EXPIRY_DAYS = 14

/** The code of a clock that differs. */
export const CLOCK_WARNINGS = declareCodes({
  clock_skewed:
    'Set the clocks of the nodes and of the other side by NTP: tokens are refused when they ' +
    'differ by more than 30 s.',
})

/** The code of a certificate that is about to expire. */
export const CERTIFICATE_WARNINGS = declareCodes({
  certificate_expires: 'Renew the certificate, and look at what should have renewed it.',
})

/** Warns of a clock that is more than 30 s ahead or behind. */
export function warnOfClock(name: string, skewMs: number | undefined): readonly Warning[] {
  if (skewMs === undefined || Math.abs(skewMs) <= SKEW_MS_MAX) return []
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  const words = skewMs > 0 ? 'ahead of' : 'behind'
  const message = `the clock of the ${name} is ${seconds} s ${words} that of this pod`
  return [warning(CLOCK_WARNINGS.clock_skewed, message)]
}

/** Warns of the certificate of an answer that expires within 14 days. */
export const warnOfCertificate = (
  name: string,
  { certificateExpires }: HttpAnswer,
): readonly Warning[] => warnOfExpiry(name, certificateExpires)

/** Warns of a certificate that expires within 14 days. */
export function warnOfExpiry(name: string, expires: Date | undefined): readonly Warning[] {
  if (!expires || expires.getTime() - Date.now() > EXPIRY_DAYS * DAY_MS) return []
  const message = `the certificate of the ${name} expires at ${expires.toISOString()}`
  return [warning(CERTIFICATE_WARNINGS.certificate_expires, message)]
}
