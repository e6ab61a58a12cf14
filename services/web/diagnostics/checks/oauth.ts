import { createHash } from 'node:crypto'
import type { WebConfig } from '../../env.ts'
import { describeOutage, failed, passed, skipped } from '../findings.ts'
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
      const outage = await findOutage(target, signal)
      if (key === undefined) {
        const error = ['API key missing: PLATFORM_OAUTH_API_KEY is not set on this pod', outage]
        return failed('oauth_key_missing', error.filter(Boolean).join('; '), { details })
      }
      return outage ? failed('oauth_unreachable', outage, { details }) : passed({ details })
    },
  }
}

/** The first 12 hex characters of the key's SHA-256 (SPEC 2.4). */
export function fingerprint(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, FINGERPRINT_LENGTH)
}

/** Why the service does not work from here. It may well not know `/health`; what fails inside it is no answer, though. */
async function findOutage(url: URL, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { status } = await probe(url, { signal, bytesMax: 0 })
    return status >= 500 ? `HTTP ${status} from the OAuth service` : undefined
  } catch (thrown) {
    return describeOutage(thrown)
  }
}
