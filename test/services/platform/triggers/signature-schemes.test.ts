import { createHmac } from 'node:crypto'
import { sign } from '@octokit/webhooks-methods'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import {
  findSkew,
  SCHEME_NAMES,
  SCHEMES,
  secretProblem,
} from '../../../../services/platform/triggers/signature-schemes.ts'
import type {
  Arrived,
  SchemeName,
} from '../../../../services/platform/triggers/signature-schemes.ts'
import { createWebhookSecret } from '../../../../services/platform/webhooks/webhook-keys.ts'

const NOW = 1_700_000_000_000
const AT = NOW / 1000
const BODY = '{"id":"evt_1","topic":"tides"}'

type Headers = Readonly<Record<string, string>>
type Sender = (secret: string, body: string, at: number) => Headers | Promise<Headers>

const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('hex')

const signStandard: Sender = (secret, body, at) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(at),
  'webhook-signature': new Webhook(secret).sign('msg_1', new Date(at * 1000), body),
})

/** How each scheme signs: with the library of the sender where there is a small one. */
const SENDERS: Readonly<Record<SchemeName, Sender>> = {
  standard_webhooks: signStandard,
  github: async (secret, body) => ({ 'x-hub-signature-256': await sign(secret, body) }),
  gitlab: (secret) => ({ 'x-gitlab-token': secret }),
  stripe: (secret, body, at) => ({
    'stripe-signature': `t=${at},v0=x,v1=${'0'.repeat(64)},v1=${hmac(secret, `${at}.${body}`)}`,
  }),
  slack: (secret, body, at) => ({
    'x-slack-request-timestamp': String(at),
    'x-slack-signature': `v0=${hmac(secret, `v0:${at}:${body}`)}`,
  }),
  hmac: (secret, body) => ({ 'x-signature': hmac(secret, body) }),
  token: (secret) => ({ authorization: `Bearer ${secret}` }),
}

const arrived = (headers: Headers, body = BODY): Arrived => ({
  header: (name: string) => headers[name] ?? '',
  body: Buffer.from(body),
})

const skewOf = (scheme: SchemeName, delivery: Arrived, secret: string) =>
  findSkew({ scheme, header: null }, delivery, { secrets: [secret, secret], now: NOW })

describe.each(SCHEME_NAMES)('the scheme %s', (scheme) => {
  const secret = createWebhookSecret()

  it('takes what its senders sign, with the present or the former secret', async () => {
    const headers = await SENDERS[scheme](secret, BODY, AT)
    expect(skewOf(scheme, arrived(headers), secret)).toBe(0)
    for (const secrets of [
      [secret, createWebhookSecret()],
      [createWebhookSecret(), secret],
    ]) {
      const given = arrived(headers, BODY)
      expect(findSkew({ scheme, header: null }, given, { secrets, now: NOW })).toBe(0)
    }
  })

  it('refuses another secret, no header, and headers of other schemes', async () => {
    const headers = await SENDERS[scheme](secret, BODY, AT)
    expect(skewOf(scheme, arrived(headers), createWebhookSecret())).toBeUndefined()
    expect(skewOf(scheme, arrived({}), secret)).toBeUndefined()
    for (const other of SCHEME_NAMES.filter((name) => name !== scheme)) {
      const foreign = await SENDERS[other](secret, BODY, AT)
      expect(skewOf(scheme, arrived(foreign), secret), other).toBeUndefined()
    }
  })

  it('refuses headers that anything was done to, and never raises', async () => {
    const headers = await SENDERS[scheme](secret, BODY, AT)
    const names = Object.keys(headers)
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 300 }),
          fc.constantFrom('', 'sha256=', 'v1,', 'v0=', 't=,v1=', 'Bearer ', 'null', '=', ','),
          fc.nat({ max: 200 }).map((at) => {
            const text = headers[names[0] ?? ''] ?? ''
            return text.slice(0, at % (text.length / 2))
          }),
        ),
        (name, value) => {
          fc.pre(value !== headers[name])
          expect(skewOf(scheme, arrived({ ...headers, [name]: value }), secret)).toBeUndefined()
        },
      ),
      { numRuns: 200 },
    )
  })

  it('says by how much the clock of a sender differs, where that is signed', async () => {
    const headers = await SENDERS[scheme](secret, BODY, AT - 600)
    const isDated = ['standard_webhooks', 'stripe', 'slack'].includes(scheme)
    expect(skewOf(scheme, arrived(headers), secret)).toBe(isDated ? 600 : 0)
  })
})

describe.each(SCHEME_NAMES.filter((name) => !SCHEMES[name].isToken))(
  'a signature of %s',
  (scheme) => {
    it('is of each byte of the body', async () => {
      const secret = createWebhookSecret()
      const headers = await SENDERS[scheme](secret, BODY, AT)
      for (let at = 0; at < BODY.length; at += 1) {
        const body = `${BODY.slice(0, at)}~${BODY.slice(at + 1)}`
        expect(skewOf(scheme, arrived(headers, body), secret)).toBeUndefined()
      }
    })
  },
)

describe('recorded signatures', () => {
  it('of the documentation of GitHub are taken', () => {
    const headers = {
      'x-hub-signature-256':
        'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    }
    expect(skewOf('github', arrived(headers, 'Hello, World!'), "It's a Secret to Everybody")).toBe(
      0,
    )
  })

  it('of the documentation of Slack are taken', () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&' +
      'channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&' +
      'command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2F' +
      'commands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&' +
      'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c'
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    }
    const skew = skewOf('slack', arrived(headers, body), '8f742231b10e8888abcd99yyyzzz85a5')
    expect(skew).toBe(AT - 1_531_420_618)
  })

  it('of the library of Stripe are taken', () => {
    const body =
      '{"id":"evt_1","object":"event","type":"checkout.session.completed",' +
      '"data":{"object":{"id":"cs_1","customer_email":"ada@example.com"}}}'
    const headers = {
      'stripe-signature':
        't=1700000000,v1=668c948dd2b8919532371ae3e24d863bdc30319e0b8ce650a3061703768158a3',
    }
    expect(skewOf('stripe', arrived(headers, body), 'whsec_recorded_with_the_library')).toBe(0)
  })

  it('with the headers of Svix are taken', () => {
    const secret = createWebhookSecret()
    const headers = Object.entries(signStandard(secret, BODY, AT)).map(([name, value]) => [
      name.replace('webhook-', 'svix-'),
      String(value),
    ])
    expect(skewOf('standard_webhooks', arrived(Object.fromEntries(headers)), secret)).toBe(0)
  })
})

describe('an HMAC of any sender', () => {
  it.each(['hex', 'base64'] as const)(
    'may be %s, with a prefix, in a header of its own',
    (form) => {
      const signature = createHmac('sha256', 'a-secret-of-16-chars').update(BODY).digest(form)
      const given = arrived({ 'x-shop-hmac': `sha256=${signature}` }, BODY)
      const secrets = ['a-secret-of-16-chars']
      const signing = { scheme: 'hmac', header: 'x-shop-hmac' } as const
      expect(findSkew(signing, given, { secrets, now: NOW })).toBe(0)
    },
  )
})

describe('a secret', () => {
  it.each([
    ['github', 'short'],
    ['github', 'with spaces in between'],
    ['github', 'x'.repeat(501)],
    ['github', 'not-of-ascii-äöüß'],
    ['standard_webhooks', 'whsec_not-base64-at-all!'],
    ['standard_webhooks', 'whsec_c2hvcnQ='],
  ] as const)('of %s is not %s', (scheme, secret) => {
    expect(secretProblem(scheme, secret)).toBeDefined()
  })
})
