import type { k8s } from 'cdk8s-plus-28'
import type { Val } from '../template/expression.ts'
import {
  all,
  base,
  builtIn,
  equals,
  helper,
  isSet,
  not,
  orElse,
  pick,
  text,
  trimSuffix,
} from '../template/operators.ts'
import type { Condition, Symbolic } from '../template/operators.ts'
import { when } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'

const { global } = values

/** An image as a container runs it. */
export interface Image {
  readonly reference: Val<string>
  readonly pullPolicy: Val<string>
  readonly pullSecret: Val<string>
}

/** The one rule for every image: its own host, or else the global one; its own path, or else the global prefix and its last component. */
function imageOf(name: string, image: Symbolic<Values['image']>, tag = image.tag): Image {
  const host = orElse(image.host, global.image.registry)
  const { namePrefixOverride: prefix } = global.image
  const path = helper(
    `platform.${name}.imageName`,
    pick(isSet(prefix), text`${prefix}/${base(image.name)}`, image.name),
  )
  return {
    reference: helper(
      `platform.${name}.image`,
      pick(isSet(host), text`${trimSuffix('/', host)}/${path}:${tag}`, text`${path}:${tag}`),
    ),
    pullPolicy: image.pullPolicy,
    pullSecret: helper(
      `platform.${name}.pullSecret`,
      orElse(image.pullSecret, global.image.pullSecret),
    ),
  }
}

export const platformImage = imageOf(
  'platform',
  values.image,
  orElse(values.image.tag, builtIn('Chart.AppVersion')),
)
export const collectorImage = imageOf('collector', values.collector.image)
export const postgresImage = imageOf('postgres', values.postgres.image)
export const dbProxyImage = imageOf('dbProxy', values.dbProxy.image)

/** The fields of a container that say what it runs. */
export const runs = ({ reference, pullPolicy }: Image) => ({
  image: reference,
  imagePullPolicy: pullPolicy,
})

/** The pull secret of a pod with one image. */
export const pullSecretOf = ({ pullSecret }: Image) => [
  when<k8s.LocalObjectReference>(isSet(pullSecret), { name: pullSecret }),
]

/** The pull secrets of a pod that works on a database: its image's, and that of the proxy or of PostgreSQL, if it is another one. */
export const databasePodPullSecrets = (image: Image) => {
  // A pod has the proxy or waits for PostgreSQL, never both, so these two need no comparison.
  const beside = (used: Condition, { pullSecret }: Image) =>
    when<k8s.LocalObjectReference>(
      all(used, isSet(pullSecret), not(equals(pullSecret, image.pullSecret))),
      { name: pullSecret },
    )
  return [
    ...pullSecretOf(image),
    beside(values.dbProxy.enabled, dbProxyImage),
    beside(values.postgres.enabled, postgresImage),
  ]
}
