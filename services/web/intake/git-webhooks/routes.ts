import { Hono } from 'hono'
import type { Context } from 'hono'
import * as v from 'valibot'
import { findAutomation } from '../../../platform/automations/automations.ts'
import { askPull, findRepositoryWebhook } from '../../../platform/crews/source-repositories.ts'
import type { RepositoryWebhook } from '../../../platform/crews/source-repositories.ts'
import { createRepositorySeals } from '../../../platform/crews/source-repository-seals.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'
import type { WebApp, WebDeps } from '../../context.ts'
import { refuseMethod } from '../../http/refuse-method.ts'
import { declareRight } from '../../gate/callers/declared-right.ts'
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const PATH = '/git-webhooks/:automationId'
/** Of a push with many commits. */
const BODY_BYTES_MAX = 2 * 1024 * 1024
const NO_COMMIT = /^0+$/

const push = v.object({ ref: v.string(), after: v.optional(v.string()) })

/**
 * Mounts what hears of pushes to the repositories of automations. An address that nobody has and a
 * signature that is wrong have the same answer, and are slowed down together.
 */
export function gitWebhookRoutes(deps: WebDeps): Hono<WebApp> {
  const { sql, badTokens } = deps
  const routes = new Hono<WebApp>()
  const verify = createVerify(deps)

  // Git servers, with a signature.
  routes.post(PATH, declareRight('anybody'), async (c) => {
    const body = await readBody(c.req.raw, BODY_BYTES_MAX)
    const webhook = await verify(c, body)
    if (!webhook) throw badTokens.answer(c, unknown(), 'git-webhooks')
    if (!isPush(c.req.raw.headers) || !isPushTo(webhook.ref, readPush(c, body)))
      return c.json({ pull: false })
    await askPull(sql, webhook, null)
    Object.assign(c.var.wide, { git_webhook: 'pull', deployment_id: webhook.deploymentId })
    return c.json({ pull: true }, 202)
  })
  routes.all(PATH, refuseMethod('POST'))
  return routes
}

const unknown = (): AppError =>
  new AppError(
    'not_found',
    'No repository has this webhook address, or the request is not signed with its secret. Make ' +
      'a new secret on the page of the automation, and enter both at the Git server.',
  )

function createVerify({ sql, config }: WebDeps) {
  const seals = createRepositorySeals(config.SECRET_KEY_BASE, config.SECRET_KEY_BASE_PREVIOUS)
  return async (c: Context<WebApp>, body: Buffer): Promise<RepositoryWebhook | undefined> => {
    const automation = await findAutomation(sql, c.req.param('automationId') ?? '')
    if (!automation) return undefined
    const webhook = await findRepositoryWebhook(sql, { deploymentId: automation.id })
    if (!webhook) return undefined
    const { deploymentId, sealedWebhookSecret } = webhook
    const secret = seals.open(sealedWebhookSecret, { deploymentId, kind: 'webhook_secret' })
    if (secret === undefined || !isSigned(c.req.raw.headers, body, secret)) return undefined
    return webhook
  }
}

/** Servers say what they tell of; GitLab in words. */
function isPush(headers: Headers): boolean {
  const event = headers.get('x-github-event') ?? headers.get('x-gitea-event')
  return /^push$|^(Tag )?Push Hook$/.test(event ?? headers.get('x-gitlab-event') ?? 'push')
}

type Push = v.InferOutput<typeof push>

/** Undefined for other events, such as the first one of GitHub. GitHub also sends forms. */
function readPush(c: Context, body: Buffer): Push | undefined {
  const isForm = mediaType(c.req.raw) === 'application/x-www-form-urlencoded'
  const text = body.toString()
  const json = isForm ? (new URLSearchParams(text).get('payload') ?? '') : text
  const read = v.safeParse(push, parse(json))
  return read.success ? read.output : undefined
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new AppError('invalid_request', 'The push is not JSON.')
  }
}

/** A branch that was deleted has nothing to pull. */
const isPushTo = (wanted: string, given: Push | undefined): boolean =>
  given !== undefined &&
  [wanted, `refs/heads/${wanted}`, `refs/tags/${wanted}`].includes(given.ref) &&
  !NO_COMMIT.test(given.after ?? '')

const HEADERS = ['x-hub-signature-256', 'x-gitea-signature', 'x-forgejo-signature'] as const

/**
 * Tells whether a push was sent by who has the secret: signed as GitHub, Gitea and Forgejo do, or
 * with the secret itself, as GitLab sends it.
 */
function isSigned(headers: Headers, body: Uint8Array, secret: string): boolean {
  const token = headers.get('x-gitlab-token')
  if (token !== null) return isEqual(token, secret)
  const given = HEADERS.map((name) => headers.get(name)).find((value) => value !== null)
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  return given !== undefined && given !== null && isEqual(given.replace(/^sha256=/, ''), expected)
}

/** Takes as long for any two texts of the same length as given. */
function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
