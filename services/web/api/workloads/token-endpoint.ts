import { Hono } from 'hono'
import { MINUTES_MAX } from '../../../platform/workloads/workload-rule-fields.ts'
import { listIssuingRules, WORKLOAD_SCOPES } from '../../../platform/workloads/workload-rules.ts'
import type { IssuingRule, WorkloadScope } from '../../../platform/workloads/workload-rules.ts'
import { issueWorkloadToken } from '../../../platform/workloads/workload-tokens.ts'
import { AppError } from '../../../shared/errors.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import type { Gate } from '../../gate/access-token/gate.ts'
import { parseToken } from '../../gate/access-token/parse-token.ts'
import type { ParsedToken } from '../../gate/access-token/parse-token.ts'
import { claimOf } from '../../gate/access-token/rule.ts'
import type { Reason } from '../../gate/access-token/rule.ts'
import { workloadContext } from '../../gate/access-token/workload-rules.ts'
import { actorOf } from '../../gate/callers/actor.ts'
import { createAudited } from '../../gate/callers/audited.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { automationUrl } from '../automation/automation-urls.ts'
import { workloadIdentity } from '../automation/workload-bearer.ts'
import { GRANT_TYPE, ISSUED_TYPE, readExchange, refuse, SUBJECT_TYPES } from './exchange-request.ts'
import type { ExchangeRequest } from './exchange-request.ts'
import { describing } from '../openapi/operation.ts'
import * as s from '../openapi/parts.ts'
import { TOKEN_PATH } from './token-errors.ts'

const SCHEME = 'workload'
const IDP_RETRY_SECONDS = '10'

const address = { ...s.text, format: 'uri', description: 'The address of the automation.' }
const scope = s.say(s.text, `Some of ${WORKLOAD_SCOPES.join(', ')}, with spaces.`)
const request = s.named('TokenExchange', {
  type: 'object',
  required: ['grant_type', 'subject_token', 'subject_token_type'],
  properties: {
    grant_type: { const: GRANT_TYPE },
    subject_token: s.say(s.text, 'The token of the workload: a signed JWT.'),
    subject_token_type: s.words(SUBJECT_TYPES),
    audience: address,
    resource: s.say(address, 'The same, in place of audience.'),
    scope,
    requested_token_type: { const: ISSUED_TYPE },
  },
})
const exchanged = s.document('ExchangedToken', {
  access_token: s.text,
  issued_token_type: { const: ISSUED_TYPE },
  token_type: { const: 'Bearer' },
  expires_in: { ...s.integer, minimum: 60, maximum: MINUTES_MAX * 60, description: 'In seconds.' },
  scope,
})
const tokenError = s.document('TokenError', { error: s.text, error_description: s.text })
const operation = describing({ tag: 'Workload rules' })
const exchangeToken = operation(
  'exchangeToken',
  'Exchange the token of a workload for one of an automation',
  {
    description: 'RFC 8693. A workload rule of the automation says which tokens are taken.',
    body: { content: { 'application/x-www-form-urlencoded': { schema: request } } },
    200: ['A token of minutes for the automation.', exchanged],
    400: ['The request, or its token, is refused; or the token was used before.', tokenError],
    413: ['The body is larger than 32 KiB.', tokenError],
    429: ['There are too many calls.', tokenError, s.retryAfter],
    503: ['The issuer of the token, or the database, cannot be reached.', tokenError, s.retryAfter],
  },
)

/** The rule that a token of a workload meets, with what it is to be for. */
interface Granted {
  readonly rule: IssuingRule
  readonly parsed: ParsedToken
  readonly scopes: readonly WorkloadScope[]
}

/** Why no rule takes a token. */
interface Refused {
  readonly reason: Reason | 'no_workload_rule'
}

/**
 * Mounts the address where workloads exchange tokens of their own issuers for tokens of an
 * automation (RFC 8693). An automation that does not exist, has no rule, or whose rules say
 * something else has the same answer, after the same work where no issuer has to be asked.
 */
export function tokenEndpointRoutes(deps: WebDeps, gate: Gate): Hono<WebApp> {
  const { sql, config, badTokens, calls, authMetrics } = deps
  const routes = new Hono<WebApp>()
  const audited = createAudited(sql)

  // Workloads, with a token of their issuer.
  routes.post(TOKEN_PATH, declareRight('anybody', exchangeToken), async (c) => {
    const asked = await readExchange(c.req.raw, config)
    Object.assign(c.var.wide, { auth: SCHEME, automation_id: asked.automationId })
    const found = await decide(deps, gate, asked)
    authMetrics?.decided(SCHEME, 'reason' in found ? found.reason : 'accepted')
    if ('reason' in found) {
      c.var.wide['auth_refused'] = found.reason
      throw badTokens.answer(c, refusalFor(found.reason), asked.automationId)
    }
    const { rule, parsed, scopes } = found
    const subject = readSubject(parsed)
    const by = workloadIdentity({ ...rule, ruleId: rule.id, subject })
    const { organizationId } = rule
    Object.assign(c.var.wide, { organization_id: organizationId, workload_rule_id: rule.id })
    const left = await calls.take({ ...by, organizationId, what: 'this workload rule' })
    const exchange = {
      rule,
      scopes,
      subject,
      assertion: asked.assertion,
      assertionEnds: parsed.dates?.exp ?? 0,
    }
    const issued = await audited(
      { actor: actorOf(c, deps, by), wide: c.var.wide },
      (tx) => issueWorkloadToken(tx, exchange),
      (made) =>
        made && {
          action: 'workload_token_issued',
          target: { kind: 'workload_rule', id: rule.id, name: rule.name },
          after: { subject, scopes, expires_at: made.expiresAt },
        },
    )
    if (!issued) throw refuse('invalid_request', USED)
    return c.json(answerOf(rule, scopes, issued.secret), 200, { ...left, ...UNCACHED })
  })
  routes.all(TOKEN_PATH, refuseMethod('POST'))
  return routes
}

const SUBJECT_LENGTH_MAX = 200
/** The first half of a character, which PostgreSQL takes for no JSON. */
const HALF = /[\uD800-\uDBFF]$/

/** Reads who the workload is, for people. */
function readSubject({ claims }: ParsedToken): string {
  const subject = claimOf(claims, 'sub')
  return typeof subject === 'string' ? subject.slice(0, SUBJECT_LENGTH_MAX).replace(HALF, '') : ''
}

const UNCACHED = { 'cache-control': 'no-store', pragma: 'no-cache' }

const USED =
  'The subject_token was exchanged before, or its rule was changed just now. Ask its issuer for ' +
  'a new one.'

const answerOf = ({ minutes }: IssuingRule, scopes: readonly WorkloadScope[], secret: string) => ({
  access_token: secret,
  issued_token_type: ISSUED_TYPE,
  token_type: 'Bearer',
  expires_in: minutes * 60,
  scope: scopes.join(' '),
})

/** Finds the rule that a token meets. Raises `invalid_request` for scopes that none gives. */
async function decide(
  { sql, config }: WebDeps,
  gate: Gate,
  { assertion, automationId, scopes: wanted }: ExchangeRequest,
): Promise<Granted | Refused> {
  const all = await listIssuingRules(sql, automationId)
  const named = nameRules(assertion, all)
  if ('reason' in named) {
    await gate.refuse(assertion)
    return named
  }
  const audience = automationUrl(config, automationId)
  const reasons: Reason[] = []
  for (const rule of named.rules) {
    const verdict = await gate.decide(assertion, workloadContext({ ...rule, audience }))
    const isGiven = wanted?.every((each) => rule.scopes.includes(each)) ?? true
    if (!verdict.accepted) reasons.push(verdict.reason)
    else if (isGiven) return { rule, parsed: verdict.parsed, scopes: wanted ?? rule.scopes }
  }
  if (reasons.length < named.rules.length) {
    throw refuse('invalid_scope', 'The workload rule does not give these scopes.')
  }
  const [first = 'no_workload_rule'] = reasons
  return { reason: reasons.includes('idp_unavailable') ? 'idp_unavailable' : first }
}

/** Returns those of the rules that have the issuer which a token names. */
function nameRules(
  assertion: string,
  all: readonly IssuingRule[],
): Refused | { readonly rules: readonly IssuingRule[] } {
  const read = parseToken(assertion)
  if (!read.ok) return { reason: read.reason }
  const rules = all.filter(({ issuer }) => issuer === claimOf(read.parsed.claims, 'iss'))
  return rules.length > 0 ? { rules } : { reason: 'no_workload_rule' }
}

/**
 * Says nothing of the rules: everybody can have a well-signed token of a public issuer, and learns
 * from none which automations exist, nor what they trust.
 */
const refusalFor = (reason: Refused['reason']): AppError =>
  reason === 'idp_unavailable'
    ? new AppError('unavailable', 'The issuer of the subject_token cannot be reached. Try again.', {
        headers: { 'retry-after': IDP_RETRY_SECONDS },
      })
    : refuse(
        'invalid_request',
        'The subject_token is not valid for this automation. Members of its organization can ' +
          'have it explained on the page of a workload rule.',
      )
