import type { MiddlewareHandler } from 'hono'

const POLICY = 'content-security-policy'

const HEADERS = {
  [POLICY]: [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'permissions-policy': [
    'accelerometer=()',
    'camera=()',
    'display-capture=()',
    'geolocation=()',
    'gyroscope=()',
    'magnetometer=()',
    'microphone=()',
    'midi=()',
    'payment=()',
    'publickey-credentials-get=()',
    'screen-wake-lock=()',
    'usb=()',
    'xr-spatial-tracking=()',
  ].join(', '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not `no-referrer`: browsers would then send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

const YEAR_SECONDS = 31_536_000

/**
 * The same headers on every answer of the service, whatever the path: a header that only some paths
 * have would tell which hidden paths exist (SPEC 5.1). Nothing is cached unless its handler says
 * so. A policy that a handler has set holds beside that of the service.
 */
export function securityHeaders(baseUrl: string): MiddlewareHandler {
  const secure = baseUrl.startsWith('https:')
  const headers = Object.entries({
    ...HEADERS,
    ...(secure
      ? { 'strict-transport-security': `max-age=${YEAR_SECONDS}; includeSubDomains` }
      : {}),
  })
  return async function addSecurityHeaders(c, next) {
    await next()
    const given = c.res.headers
    const narrower = given.get(POLICY)
    for (const [name, value] of headers) given.set(name, value)
    if (narrower !== null) given.append(POLICY, narrower)
    if (!given.has('cache-control')) given.set('cache-control', 'no-store')
  }
}
