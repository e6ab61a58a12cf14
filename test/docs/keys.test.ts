import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { containersOf, manifests, podsOf } from '../infra/support/platform.ts'
import type { Manifest } from '../infra/support/platform.ts'
import { blocksOf } from './documents.ts'

const objects: readonly Manifest[] = blocksOf('docs/keys.md')
  .filter(({ language }) => language === 'yaml')
  .map(({ code }) => parse(code))

const objectOf = (kind: string): Manifest => objects.find((object) => object.kind === kind)

describe('the objects of External Secrets in the manual', () => {
  it('make the Secret that the values name, with every key that pods read', () => {
    const values = objects.find((object) => object.secrets)
    const { target, data } = objectOf('ExternalSecret').spec
    expect(target.name).toBe(values.secrets.existingSecret)
    const given = data.map(({ secretKey }: Manifest) => secretKey)
    const references = podsOf(manifests({ ...values, crews: { fromSource: true } }))
      .flatMap(({ pod }) => containersOf(pod).flatMap(({ env = [] }) => env))
      .map(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef)
      .filter((reference: Manifest) => reference?.name === target.name)
    for (const { key, optional } of references) if (!optional) expect(given).toContain(key)
    const known = references.map(({ key }: Manifest) => key)
    for (const key of given) expect(known).toContain(key)
  })

  it('copy the Secret of the keys that cannot be made again', () => {
    const { selector, data } = objectOf('PushSecret').spec
    expect(selector.secret.name).toBe('platform-keys')
    const keys = data.map(({ match }: Manifest) => match.secretKey)
    expect(keys).toEqual(['SECRET_KEY_BASE', 'OAUTH_ENCRYPTION_KEY', 'DB_PASSWORD'])
  })
})
