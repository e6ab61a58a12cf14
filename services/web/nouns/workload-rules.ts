import { html } from 'hono/html'
import * as v from 'valibot'
import { URL_LENGTH_MAX } from '../../platform/automations/automation-oauth-fields.ts'
import type { Automation } from '../../platform/automations/automations.ts'
import { requireWithin } from '../../platform/automations/static-token-fields.ts'
import {
  CLAIMS_MAX,
  IDENTIFYING_CLAIMS,
  MINUTES_MAX,
  readWorkloadRule,
} from '../../platform/workloads/workload-rule-fields.ts'
import {
  createWorkloadRule,
  deleteWorkloadRule,
  findWorkloadRule,
  listWorkloadRules,
  pauseWorkloadRule,
  resumeWorkloadRule,
  updateWorkloadRule,
  WORKLOAD_RULES_MAX,
  WORKLOAD_SCOPES,
} from '../../platform/workloads/workload-rules.ts'
import type { WorkloadRule, WorkloadRuleFields } from '../../platform/workloads/workload-rules.ts'
import { isObject } from '../../shared/is-object.ts'
import { oneOf, trueOrFalse, whole } from '../../shared/schemas.ts'
import { automationUrl } from '../api/automation/automation-urls.ts'
import { moment, perhapsMoment, text as string, say } from '../api/openapi/parts.ts'
import { GRANT_TYPE, SUBJECT_TYPES } from '../api/workloads/exchange-request.ts'
import { TOKEN_PATH } from '../api/workloads/token-errors.ts'
import { copyable } from '../console/frame/parts.ts'
import type { Html } from '../console/frame/parts.ts'
import { explainFormCard } from '../console/frame/explain-section.ts'
import { json, number, text, tick, ticks } from '../resources/controls.ts'
import { field, resource } from '../resources/declaration.ts'
import type { Call } from '../resources/declaration.ts'
import { automation } from './automation.ts'
import { factsByName } from './by-name.ts'

const NAME_MAX = 100

const fields = {
  name: field(v.string('must be a text'), {
    label: 'Name',
    control: text({ max: NAME_MAX }),
    example: 'Deployments of the site',
  }),
  issuer: field(v.string('must be a text'), {
    label: 'Issuer',
    hint: 'Exactly as in the iss claim of the tokens of the workload.',
    control: text({ max: URL_LENGTH_MAX, isMono: true }),
    example: 'https://token.actions.githubusercontent.com',
  }),
  jwks_url: field(v.optional(v.nullable(v.string('must be a text')), null), {
    label: 'JWKS URL',
    hint: 'Leave empty to use the address that discovery returns.',
    control: text({ max: URL_LENGTH_MAX, isMono: true, isOptional: true }),
  }),
  claims: field(
    v.pipe(
      v.unknown(),
      // A list is a record to valibot.
      v.check(isObject, 'must be an object'),
      v.record(v.string(), v.string('must have texts alone')),
      v.check((all) => Object.keys(all).length <= CLAIMS_MAX, `must have at most ${CLAIMS_MAX}`),
    ),
    {
      label: 'Claims',
      hint:
        'A JSON object: what the token has to say, all of it. A text that ends in :* or /* ' +
        `stands for all that begin so. One is ${IDENTIFYING_CLAIMS.slice(0, -1).join(', ')} or ` +
        `${IDENTIFYING_CLAIMS.at(-1)}.`,
      control: json({ rows: 4 }),
      example: { sub: 'repo:acme/site:ref:refs/heads/main' },
    },
  ),
  scopes: field(
    v.optional(
      v.pipe(
        v.array(oneOf(WORKLOAD_SCOPES), 'must be a list of texts'),
        v.minLength(1, 'must have at least one thing that the workload may do'),
        v.maxLength(WORKLOAD_SCOPES.length, 'must name each thing once'),
      ),
      [...WORKLOAD_SCOPES],
    ),
    {
      label: 'It may',
      control: ticks({
        box: 'scopes',
        options: { kickoff: 'Start and steer runs', read: 'Read runs' },
      }),
      example: ['kickoff', 'read'],
    },
  ),
  minutes: field(v.optional(whole(1, MINUTES_MAX), MINUTES_MAX), {
    label: 'Minutes',
    hint: 'For how long a token of the automation is good',
    control: number({ max: MINUTES_MAX }),
    example: MINUTES_MAX,
  }),
  reusable: field(v.optional(trueOrFalse, false), {
    label: 'A token of the workload may be exchanged more than once',
    hint: 'For Kubernetes, which writes a token to a file and keeps it there for some time',
    control: tick,
  }),
}

/** A rule with the audience that it asks for. */
interface Row extends WorkloadRule {
  readonly audience: string
  readonly tokenUrl: string
}

const rowOf =
  ({ deps: { config }, owner }: Call<Automation>) =>
  (rule: WorkloadRule): Row => ({
    ...rule,
    audience: automationUrl(config, owner.automationId),
    tokenUrl: `${config.PLATFORM_BASE_URL}${TOKEN_PATH}`,
  })

/** A rule stays when the token that makes it ends. */
async function requireOwnRight({ sql, tokenId }: Call<Automation>, { scopes }: WorkloadRuleFields) {
  const limits = { scopes, expiresAt: new Date(), networks: [] }
  if (tokenId !== null) await requireWithin(sql, tokenId, { what: 'The rule', ...limits })
}

/** Which workloads get tokens of an automation, without a secret. */
export const workloadRules = resource<Automation, WorkloadRuleFields, Row, typeof fields>({
  kind: 'workload_rule',
  id: 'uuid',
  under: automation,
  most: WORKLOAD_RULES_MAX,
  fields,
  values: ({ name, issuer, jwksUrl, claims, scopes, minutes, isReusable }) => ({
    name,
    issuer,
    jwks_url: jwksUrl,
    claims: { ...claims },
    scopes: [...scopes],
    minutes,
    reusable: isReusable,
  }),
  facts: factsByName({
    audience: { ...string, format: 'uri', description: 'What the workload asks its issuer for.' },
    token_url: { ...string, format: 'uri', description: 'Where it exchanges its token.' },
    paused_at: say(perhapsMoment, 'Null: it is not paused.'),
    created_at: moment,
  }),
  rights: { read: 'viewer', change: 'admin' },
  scope: 'settings',
  verbs: {
    list: async (call) => (await listWorkloadRules(call.sql, call.owner.id)).map(rowOf(call)),
    async find(call, id) {
      const found = await findWorkloadRule(call.sql, { id, deploymentId: call.owner.id })
      return found && rowOf(call)(found)
    },
    read: async ({ deps: { config } }, { jwks_url: jwksUrl, reusable: isReusable, ...given }) =>
      readWorkloadRule(
        { ...given, jwksUrl: jwksUrl || null, isReusable },
        config.AUTOMATION_OAUTH_PRIVATE_ORIGINS,
      ),
    async create(call, given) {
      await requireOwnRight(call, given)
      return { row: rowOf(call)(await createWorkloadRule(call.sql, call.owner.id, given)) }
    },
    async change(call, row, given) {
      await requireOwnRight(call, given)
      await updateWorkloadRule(call.sql, row, given)
    },
    remove: ({ sql }, row) => deleteWorkloadRule(sql, row),
  },
  actions: {
    pause: {
      text: 'Pause',
      past: 'paused',
      done: 'The rule is paused. The tokens that it issued are refused from now on.',
      undo: 'resume',
      isOffered: ({ pausedAt }) => pausedAt === null,
      does: ({ sql }, row) => pauseWorkloadRule(sql, row),
    },
    resume: {
      text: 'Resume',
      past: 'resumed',
      done: 'The rule is resumed.',
      undo: 'pause',
      isOffered: ({ pausedAt }) => pausedAt !== null,
      does: ({ sql }, row) => resumeWorkloadRule(sql, row),
    },
  },
  words: {
    about:
      'A workload rule lets a job or a pod call the automation with the token of its own issuer, ' +
      'without a secret.',
    icon: 'key',
    form: 'Who may call',
    saved: 'The rule is saved. The tokens that it issued before are refused from now on.',
    deleted: 'The rule is deleted. The tokens that it issued are refused from now on.',
    deletes: 'The workloads lose access at once, with the tokens that they have.',
  },
  name: ({ name }) => name,
  state: ({ pausedAt }) => (pausedAt ? ['idle', 'Paused'] : ['good', 'On']),
  columns: [
    { title: 'Name', cell: ({ name }) => name },
    {
      title: 'Issuer',
      className: 'row-wide',
      cell: ({ issuer }) => html`<span class="mono break">${issuer}</span>`,
    },
    {
      title: 'Claims',
      className: 'row-wide',
      cell: ({ claims }) =>
        html`${Object.entries(claims).map(
          ([claim, wanted]) => html`<span class="sub mono break">${claim}: ${wanted}</span>`,
        )}`,
    },
  ],
  below: ({ session, path }) =>
    explainFormCard({ session, path }, { label: 'Token of the workload' }),
  beside: ({ row }) => exchangeSection(row),
})

/** What the workload asks for, and how it exchanges what it gets. */
function exchangeSection({ audience, tokenUrl }: Row): Html {
  const command = `curl -sS --fail-with-body ${tokenUrl} \\
  --data-urlencode grant_type=${GRANT_TYPE} \\
  --data-urlencode subject_token_type=${SUBJECT_TYPES[0]} \\
  --data-urlencode subject_token="$ID_TOKEN" \\
  --data-urlencode audience=${audience}`
  return html`<section class="card" aria-labelledby="exchange">
    <div class="card-head"><h2 id="exchange">Exchange</h2></div>
    ${copyable('Audience of the token', audience)}
    <p class="hint">
      The workload asks its issuer for a token for this audience, and exchanges it:
    </p>
    ${copyable('Command', command)}
  </section>`
}
