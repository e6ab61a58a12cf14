import * as v from 'valibot'
import { createForwardProxy, routeThrough } from '../../../shared/outgoing/forward-proxy.ts'
import type { Check } from '../check.ts'
import { declareCodes } from '../failure-code.ts'
import { failed, passed, skipped, warning, withWarnings } from '../finding.ts'
import type { Finding, Warning } from '../finding.ts'
import { httpGet } from '../http-get.ts'
import type { HttpAnswer } from '../http-get.ts'
import { describeOutage } from '../outage.ts'
import {
  CERTIFICATE_WARNINGS,
  CLOCK_WARNINGS,
  warnOfCertificate,
  warnOfClock,
} from '../time-warnings.ts'

const DOCUMENT_BYTES_MAX = 256 * 1024

const discoveryDocument = v.object({ issuer: v.string(), jwks_uri: v.string() })

const failures = declareCodes({
  idp_unreachable:
    'Check OIDC_ISSUER_URL, DNS, and that the cluster may reach the identity provider (egress ' +
    'policy, proxy in global.proxy, authority in global.caBundle).',
  idp_http_error:
    'The provider answers, but not at its discovery endpoint. Check that OIDC_ISSUER_URL is the ' +
    'issuer itself, without /.well-known, and is not redirected.',
})

const DOUBTS = declareCodes({
  idp_issuer_mismatch:
    'Set OIDC_ISSUER_URL to the issuer that the discovery document names; tokens of any other ' +
    'are refused.',
  idp_document_incomplete:
    'The discovery endpoint answers, and sign-in finds no issuer and keys there. Check that ' +
    'OIDC_ISSUER_URL is the issuer itself, without /.well-known.',
})

const warnings = { ...DOUBTS, ...CLOCK_WARNINGS, ...CERTIFICATE_WARNINGS }

/** The identity provider answers at its discovery endpoint; no login is tried. */
export const authCheck: Check = {
  weight: 'critical',
  title: 'Identity provider',
  skipped: 'People sign in with a password; there is no identity provider',
  failures,
  warnings,
  timeout: failures.idp_unreachable,

  async run({ signal }, { config }) {
    const { AUTH_PROVIDER: provider, OIDC_ISSUER_URL: issuer } = config
    // Without an issuer the service would not have started.
    if (provider === 'local' || issuer === undefined) return skipped({ provider })
    try {
      const url = new URL(`${issuer}/.well-known/openid-configuration`)
      const route = routeThrough(createForwardProxy(config), url)
      const answer = await httpGet(url, { signal, bytesMax: DOCUMENT_BYTES_MAX, route })
      return toFinding(answer, { provider, issuer })
    } catch (thrown) {
      return failed(failures.idp_unreachable, describeOutage(thrown), { provider })
    }
  },
}

function toFinding(
  answer: HttpAnswer,
  { provider, issuer }: { provider: string; issuer: string },
): Finding {
  const { status, json, cut, skewMs } = answer
  const facts = { provider, http_status: status }
  if (status !== 200) {
    return failed(failures.idp_http_error, `HTTP ${status} from the discovery endpoint`, facts)
  }
  if (cut) return failed(failures.idp_unreachable, describeOutage(cut), facts)
  const doubt = findDoubt(json, issuer)
  const found = [
    ...(doubt ? [doubt] : []),
    ...warnOfClock('identity provider', skewMs),
    ...warnOfCertificate('identity provider', answer),
  ]
  return passed(found.length > 0 ? { ...facts, details: withWarnings({}, found) } : facts)
}

/** Finds a reason why people may fail to sign in although the endpoint answers. */
function findDoubt(json: unknown, issuer: string): Warning | undefined {
  const document = v.safeParse(discoveryDocument, json)
  if (!document.success) {
    return warning(warnings.idp_document_incomplete, 'HTTP 200 without a discovery document')
  }
  const named = document.output.issuer
  if (isSameIssuer(named, issuer)) return undefined
  return warning(
    warnings.idp_issuer_mismatch,
    `issuer mismatch: configured is ${issuer}, the discovery document names ${named}`,
  )
}

/**
 * True also with a slash at the end, which some providers write. A document that stands for all
 * tenants of a provider names no issuer; the sign-in does not accept it either.
 */
const isSameIssuer = (named: string, configured: string): boolean =>
  named.replace(/\/+$/, '') === configured
