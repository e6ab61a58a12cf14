import { createHash } from 'node:crypto'
import { html } from 'hono/html'
import type { Check } from '../check.ts'
import { declareCodes } from '../failure-code.ts'
import { failed, passed, skipped, warning, withWarnings } from '../finding.ts'
import type { Finding, Warning } from '../finding.ts'
import { httpGet } from '../http-get.ts'
import { describeOutage } from '../outage.ts'
import { CERTIFICATE_WARNINGS, warnOfCertificate } from '../time-warnings.ts'

const FINGERPRINT_LENGTH = 12

interface OauthDetails {
  readonly host: string
  readonly api_key_configured: boolean
  readonly api_key_fingerprint: string
  readonly pod: string
}

const failures = declareCodes({
  oauth_key_missing:
    'Set PLATFORM_OAUTH_API_KEY on this pod: it comes from the platform Secret. Restart the pod ' +
    'after the Secret is right.',
  oauth_unreachable:
    'Check PLATFORM_OAUTH_API_BASE_URL, the pods of the OAuth service and the network policy.',
})

const HTTP_WARNINGS = declareCodes({
  oauth_http_error:
    'The OAuth service is reachable and cannot serve. Look at its logs and at its database.',
})

const warnings = { ...HTTP_WARNINGS, ...CERTIFICATE_WARNINGS }

/**
 * The OAuth integration service answers, and this pod has its key. Pods with another key show by
 * its fingerprint.
 */
export const oauthCheck: Check<OauthDetails> = {
  weight: 'optional',
  title: 'OAuth integration',
  skipped: 'The OAuth service is not configured',
  failures,
  warnings,
  timeout: failures.oauth_unreachable,
  page: {
    facts: ({ host, api_key_fingerprint: key }) => [
      ...(host ? [html`<li class="mono">${host}</li>`] : []),
      ...(key ? [html`<li>Key fingerprint <code class="select">${key}</code></li>`] : []),
    ],
  },

  async run({ signal }, { config, pod }): Promise<Finding<OauthDetails>> {
    const { PLATFORM_OAUTH_API_BASE_URL: url, PLATFORM_OAUTH_API_KEY: key } = config
    if (url === undefined) return skipped()
    const target = new URL(`${url}/health`)
    const { outage, warned = [] } = await findOutage(target, signal)
    const own: Partial<OauthDetails> = {
      host: target.host,
      api_key_configured: key !== undefined,
      ...(key === undefined ? {} : { api_key_fingerprint: fingerprint(key) }),
      pod,
    }
    const details = withWarnings(own, warned)
    if (key === undefined) {
      const error = ['API key missing: PLATFORM_OAUTH_API_KEY is not set on this pod', outage]
      return failed(failures.oauth_key_missing, error.filter(Boolean).join('; '), { details })
    }
    return outage ? failed(failures.oauth_unreachable, outage, { details }) : passed({ details })
  },
}

/** Returns the first 12 hex characters of the key's SHA-256 (SPEC 2.4). */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, FINGERPRINT_LENGTH)
}

interface Reached {
  readonly outage?: string
  readonly warned?: readonly Warning[]
}

/**
 * Any answer counts: the service may not know `/health`, and one that fails inside is reachable all
 * the same.
 */
async function findOutage(url: URL, signal: AbortSignal): Promise<Reached> {
  try {
    const answer = await httpGet(url, { signal, bytesMax: 0 })
    const warned = warnOfCertificate('OAuth service', answer)
    if (answer.status < 500) return { warned }
    const message = `HTTP ${answer.status} from the OAuth service`
    return { warned: [warning(warnings.oauth_http_error, message), ...warned] }
  } catch (thrown) {
    return { outage: describeOutage(thrown) }
  }
}
