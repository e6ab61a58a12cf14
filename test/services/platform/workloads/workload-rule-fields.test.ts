import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isWanted,
  readWorkloadRule,
} from '../../../../services/platform/workloads/workload-rule-fields.ts'

const rule = {
  name: 'Site',
  issuer: 'https://token.actions.githubusercontent.com',
  jwksUrl: null,
  claims: { sub: 'repo:acme/site:ref:refs/heads/main' },
  scopes: ['kickoff', 'read'],
  minutes: 5,
  isReusable: false,
} as const
const read = (claims: Readonly<Record<string, string>>) => () =>
  readWorkloadRule({ ...rule, claims }, [])

describe('the claims that a rule asks for', () => {
  it.each([
    'repo:acme/site:ref:refs/heads/main',
    'repo:acme/site:*',
    'repo:acme/*',
    'system:serviceaccount:jobs:*',
    'project_path:acme/site:ref_type:branch:*',
    'spiffe://acme.test/ns/*',
  ])('may be %s', (sub) => {
    expect(read({ sub })().claims).toEqual({ sub })
  })

  it.each([
    'repo:acme/site*',
    'repo:*',
    'project_path:*',
    '*',
    ':*',
    '/*',
    'repo::*',
    'https://*',
    'repo:*/site:*',
    'repo:acme/*:ref',
    'repo:acme/site:**',
  ])('may not be %s', (sub) => {
    expect(read({ sub })).toThrow(/an asterisk stands at the end/)
  })

  it('say who the workload is', () => {
    expect(read({ ref: 'refs/heads/main', environment: 'production' })).toThrow(/who the workload/)
    expect(read({ repository: 'acme/site', ref: 'refs/heads/main' })()).toBeTruthy()
  })

  it('are no text that a form or a database reads otherwise', () => {
    for (const sub of ['', 'a\0b', 'a\nb', 'x'.repeat(501)]) {
      expect(read({ sub })).toThrow(/text of 1 to 500 characters/)
    }
  })

  it('are met by a text alone: not by a list, a number, or nothing', () => {
    const odd = fc.oneof(
      fc.constantFrom(undefined, null, true, 7, {}, [], ['repo:acme/site:x'], [['acme']]),
      fc.array(fc.string()),
      fc.double(),
      fc.object(),
    )
    fc.assert(
      fc.property(
        odd,
        fc.constantFrom('repo:acme/site:*', '7', 'true', 'null'),
        (value, wanted) => {
          expect(isWanted(value, wanted)).toBe(false)
        },
      ),
    )
  })

  it('begin at a whole part: no name that only begins alike is one of them', () => {
    const word = fc.stringMatching(/^[a-z0-9_-]{1,12}$/)
    fc.assert(
      fc.property(fc.tuple(word, word, word), fc.constantFrom(':', '/', ''), (words, end) => {
        const [org, name, more] = words
        const wanted = `repo:${org}/${name}:*`
        expect(isWanted(`repo:${org}/${name}:${more}`, wanted)).toBe(true)
        expect(isWanted(`repo:${org}/${name}${more}:${more}`, wanted)).toBe(false)
        expect(isWanted(`repo:${org}/${name}${end}`, wanted)).toBe(false)
        expect(isWanted(` repo:${org}/${name}:${more}`, wanted)).toBe(false)
      }),
    )
  })
})

describe('the issuer of a rule', () => {
  const withIssuer = (issuer: string, jwksUrl: string | null = null) =>
    readWorkloadRule({ ...rule, issuer, jwksUrl }, ['http://cluster.test:8080'])

  it('has an address that is safe, or that the operator lists', () => {
    expect(withIssuer('http://cluster.test:8080').issuer).toBe('http://cluster.test:8080')
    for (const issuer of ['', 'http://idp.test', 'ftp://idp.test', 'https://idp.test?a=b', 'x']) {
      expect(() => withIssuer(issuer)).toThrow(/Issuer/)
    }
    expect(() => withIssuer(rule.issuer, 'http://169.254.169.254/keys')).toThrow(/JWKS URL/)
  })
})
