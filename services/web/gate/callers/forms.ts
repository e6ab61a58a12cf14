import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context, MiddlewareHandler } from 'hono'
import type { Session } from '../../../platform/people/sessions.ts'
import { AppError } from '../../../shared/errors.ts'
import type { SignedIn } from '../../context.ts'
import { CSRF_FIELD } from './csrf-field.ts'
import { mediaType, readBody } from '../../../shared/http/request-body.ts'

const FORM_BYTES_MAX = 256 * 1024

/**
 * Reads a posted form of this session into `form`, of at most 256 KiB unless told otherwise. Raises
 * `csrf_failed` unless a page of ours sent it.
 */
export function requireForm(
  baseUrl: string,
  bytesMax: number = FORM_BYTES_MAX,
): MiddlewareHandler<SignedIn> {
  return async function checkForm(c, next) {
    requireSameOrigin(c, baseUrl)
    const form = await readForm(c.req.raw, bytesMax)
    requireCsrfToken(form, c.var.session)
    c.set('form', form)
    await next()
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['unprocessable', 'conflict', 'precondition_failed'])

/** Returns what a form led to, or what is wrong with it. */
export async function takeForm<Result>(take: () => Promise<Result>): Promise<Result | string> {
  try {
    return await take()
  } catch (thrown) {
    if (thrown instanceof AppError && REFUSALS.has(thrown.code)) return thrown.message
    throw thrown
  }
}

/** Refuses a form that was not shown to this session (`csrf_failed`). */
export function requireCsrfToken(form: URLSearchParams, { csrfToken }: Session): void {
  if (!isSame(form.get(CSRF_FIELD) ?? '', csrfToken)) throw formExpired()
}

/** The fields of a form. Raises `unsupported_media_type` and `payload_too_large`. */
export async function readForm(
  request: Request,
  bytesMax: number = FORM_BYTES_MAX,
): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new AppError('unsupported_media_type', 'This page takes the form that it shows.')
  }
  return new URLSearchParams((await readBody(request, bytesMax)).toString('utf8'))
}

/**
 * Refuses a form that a page of another site sent (`csrf_failed`), by what the browser tells of its
 * origin. A client that tells nothing is no browser and has no session that it was tricked into
 * using; the token is checked all the same.
 */
export function requireSameOrigin(c: Context, baseUrl: string): void {
  const site = c.req.header('sec-fetch-site')
  const sameOrigin = site
    ? site === 'same-origin' || site === 'none'
    : isOwnOrigin(c.req.header('origin'), [c.req.header('host') ?? '', new URL(baseUrl).host])
  if (!sameOrigin) throw formExpired()
}

function isOwnOrigin(origin: string | undefined, hosts: readonly string[]): boolean {
  if (origin === undefined) return true
  return URL.canParse(origin) && hosts.includes(new URL(origin).host)
}

/** Returns true if two secrets are equal, in a time that does not depend on them. */
export function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}

/** Creates the error of a form that nobody was shown, or too long ago. */
export function formExpired(): AppError {
  return new AppError(
    'csrf_failed',
    'This form is no longer valid. Go back, reload the page and send it again.',
  )
}
