import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import * as v from 'valibot'
import { ALGORITHMS } from '../../../../../services/platform/automations/automation-oauth.ts'
import type { TokenPolicy } from '../../../../../services/platform/automations/automation-oauth.ts'
import { headerRules } from '../../../../../services/web/gate/access-token/header-rules.ts'
import { readClaims } from '../../../../../services/web/gate/access-token/read-claims.ts'
import { firstRefusal } from '../../../../../services/web/gate/access-token/rule.ts'
import {
  createSignatures,
  findCandidates,
} from '../../../../../services/web/gate/access-token/verify-signature.ts'
import { fits, vetKeys } from '../../../../../services/web/gate/access-token/vet-keys.ts'

const vector = v.object({
  tcId: v.number(),
  comment: v.string(),
  result: v.picklist(['valid', 'invalid']),
  jws: v.string(),
})
const group = v.object({
  file: v.string(),
  group: v.string(),
  keys: v.array(v.looseObject({})),
  tests: v.array(vector),
})
const headerOfToken = v.pipe(v.string(), v.parseJson(), v.looseObject({ alg: v.string() }))

const groups = readFileSync(new URL('wycheproof/vectors.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => v.parse(v.pipe(v.string(), v.parseJson(), group), line))
const vectors = groups.flatMap(({ file, group: name, keys, tests }) =>
  tests.map((each) => ({ ...each, keys, name: `${file} ${each.tcId}, ${name}: ${each.comment}` })),
)

const signatures = createSignatures()
const policy: TokenPolicy = {
  issuer: 'https://idp.example.com',
  audiences: ['platform'],
  absentAudienceAllowed: false,
  scope: 'kickoff',
  scopeClaim: 'scope',
  algorithms: ALGORITHMS,
  skewSeconds: 30,
  lifetimeSecondsMax: 3600,
}

function readHeader(jws: string) {
  const [first = ''] = jws.split('.')
  const read = v.safeParse(headerOfToken, Buffer.from(first, 'base64url').toString('utf8'))
  return read.success ? read.output : undefined
}

/** What the gate does before it looks at the claims: these payloads are none. */
async function isVerified({ jws, keys }: Pick<(typeof vectors)[number], 'jws' | 'keys'>) {
  const header = readHeader(jws)
  if (!header) return false
  const facts = { header, policy, ...readClaims({}), boundClient: null, nowSeconds: 0 }
  if (firstRefusal(headerRules, facts) !== undefined) return false
  const vetted = vetKeys({ keys }) ?? []
  const candidates = await findCandidates(header, {
    find: (matches) => Promise.resolve(vetted.filter(matches)),
  })
  return (await signatures.verify({ token: jws, header }, candidates)).ok
}

describe('of the vectors of Wycheproof for JSON Web Signature and JSON Web Key', () => {
  it('none that is invalid is accepted', async () => {
    const invalid = vectors.filter(({ result }) => result === 'invalid')
    const accepted = []
    for (const each of invalid) if (await isVerified(each)) accepted.push(each.name)
    expect(accepted).toEqual([])
    expect(invalid.length).toBeGreaterThan(350)
  })

  it('each that is valid is accepted, where the key says the algorithm of the token', async () => {
    const ours = vectors.filter(({ result, jws, keys }) => {
      const { alg } = readHeader(jws) ?? {}
      const algorithm = ALGORITHMS.find((each) => each === alg)
      return result === 'valid' && algorithm && keys.some((key) => fits(key, algorithm))
    })
    const refused = []
    for (const each of ours) if (!(await isVerified(each))) refused.push(each.name)
    expect(refused).toEqual([])
    expect(ours.length).toBeGreaterThan(30)
  })
})
