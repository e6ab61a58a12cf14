import { createHash } from 'node:crypto'
import type { WebConfig } from '../../env.ts'
import { describeOutage, failed, passed, skipped, warning, withWarnings } from '../findings.ts'
import type { Warning } from '../findings.ts'
import { probe } from '../http-probe.ts'
import type { Check } from '../run-checks.ts'

const FINGERPRINT_LENGTH = 12

type Config = Pick<WebConfig, 'PLATFORM_OAUTH_API_BASE_URL' | 'PLATFORM_OAUTH_API_KEY'>

/** The OAuth integration service answers, and this pod has its key; the fingerprint tells pods with another key. */
export function oauthCheck(config: Config, pod: string): Check {
  const { PLATFORM_OAUTH_API_BASE_URL: url, PLATFORM_OAUTH_API_KEY: key } = config
  return {
    timeoutCode: 'oauth_unreachable',
    async run({ signal }) {
      if (url === undefined) return skipped()
      const target = new URL(`${url}/health`)
      const details = {
        host: target.host,
        api_key_configured: key !== undefined,
        ...(key === undefined ? {} : { api_key_fingerprint: fingerprint(key) }),
        pod,
      }
      const { outage, warnings = [] } = await ask(target, signal)
      const facts = { details: withWarnings(details, warnings) }
      if (key === undefined) {
        const error = ['API key missing: PLATFORM_OAUTH_API_KEY is not set on this pod', outage]
        return failed('oauth_key_missing', error.filter(Boolean).join('; '), facts)
      }
      return outage ? failed('oauth_unreachable', outage, facts) : passed(facts)
    },
  }
}

/** The first 12 hex characters of the key's SHA-256 (SPEC 2.4). */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, FINGERPRINT_LENGTH)
}

interface Answer {
  readonly outage?: string
  readonly warnings?: readonly Warning[]
}

/** Any answer is one: the service may not know `/health`, and one that fails inside is reachable all the same. */
async function ask(url: URL, signal: AbortSignal): Promise<Answer> {
  try {
    const { status } = await probe(url, { signal, bytesMax: 0 })
    if (status < 500) return {}
    return { warnings: [warning('oauth_http_error', `HTTP ${status} from the OAuth service`)] }
  } catch (thrown) {
    return { outage: describeOutage(thrown) }
  }
}
