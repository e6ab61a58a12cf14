import * as v from 'valibot'
import type { WebConfig } from '../../env.ts'
import { describeOutage, failed, passed, skipped, warning, withWarnings } from '../findings.ts'
import type { Warning } from '../findings.ts'
import { probe } from '../http-probe.ts'
import type { ProbeAnswer } from '../http-probe.ts'
import type { Finding } from '../report.ts'
import type { Check } from '../run-checks.ts'

const DOCUMENT_BYTES_MAX = 256 * 1024

const discoveryDocument = v.object({ issuer: v.string(), jwks_uri: v.string() })

type Config = Pick<WebConfig, 'AUTH_PROVIDER' | 'OIDC_ISSUER_URL'>

/** The identity provider answers at its discovery endpoint; no login is tried. */
export function authCheck({ AUTH_PROVIDER: provider, OIDC_ISSUER_URL: issuer }: Config): Check {
  return {
    timeoutCode: 'idp_unreachable',
    async run({ signal }) {
      // Without an issuer the service would not have started.
      if (provider === 'local' || issuer === undefined) return skipped({ provider })
      try {
        const url = new URL(`${issuer}/.well-known/openid-configuration`)
        const answer = await probe(url, { signal, bytesMax: DOCUMENT_BYTES_MAX })
        return judge(answer, { provider, issuer })
      } catch (thrown) {
        return failed('idp_unreachable', describeOutage(thrown), { provider })
      }
    },
  }
}

function judge(
  { status, json, cut }: ProbeAnswer,
  { provider, issuer }: { provider: string; issuer: string },
): Finding {
  const facts = { provider, http_status: status }
  if (status !== 200) {
    return failed('idp_http_error', `HTTP ${status} from the discovery endpoint`, facts)
  }
  if (cut) return failed('idp_unreachable', describeOutage(cut), facts)
  const doubt = doubtAbout(json, issuer)
  return passed(doubt ? { ...facts, details: withWarnings({}, [doubt]) } : facts)
}

/** Why people may fail to sign in although the endpoint answers. */
function doubtAbout(json: unknown, issuer: string): Warning | undefined {
  const document = v.safeParse(discoveryDocument, json)
  if (!document.success) {
    return warning('idp_document_incomplete', 'HTTP 200 without a discovery document')
  }
  const named = document.output.issuer
  if (isSameIssuer(named, issuer)) return undefined
  return warning(
    'idp_issuer_mismatch',
    `issuer mismatch: configured is ${issuer}, the discovery document names ${named}`,
  )
}

/**
 * Some providers write a slash at the end. A document that stands for all tenants of a provider names no issuer, and
 * the sign-in does not take it either.
 */
const isSameIssuer = (named: string, configured: string): boolean =>
  named.replace(/\/+$/, '') === configured
