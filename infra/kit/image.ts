import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import {
  base,
  builtIn,
  distinct,
  helper,
  isSet,
  orElse,
  pick,
  text,
  trimSuffix,
} from '../template/operators.ts'
import type { Symbolic } from '../template/operators.ts'
import { eachText, when } from '../template/structure.ts'
import { values } from '../values.ts'
import type { Values } from '../values.ts'

const { global } = values

/** An image as a container runs it. */
export interface Image {
  readonly reference: Val<string>
  readonly pullPolicy: Val<string>
  readonly pullSecret: Val<string>
}

/**
 * The one rule for every image: its own host, or else the global one; its own path, or else the
 * global prefix and its last component; its tag, and its digest where one is pinned.
 */
function imageOf(name: string, image: Symbolic<Values['image']>, tag = image.tag): Image {
  const host = orElse(image.host, global.image.registry)
  const { namePrefixOverride: prefix } = global.image
  const path = helper(
    `platform.${name}.imageName`,
    pick(isSet(prefix), text`${prefix}/${base(image.name)}`, image.name),
  )
  const version = helper(
    `platform.${name}.imageVersion`,
    pick(isSet(image.digest), text`${tag}@${image.digest}`, tag),
  )
  return {
    reference: helper(
      `platform.${name}.image`,
      pick(
        isSet(host),
        text`${trimSuffix('/', host)}/${path}:${version}`,
        text`${path}:${version}`,
      ),
    ),
    pullPolicy: image.pullPolicy,
    pullSecret: helper(
      `platform.${name}.pullSecret`,
      orElse(image.pullSecret, global.image.pullSecret),
    ),
  }
}

/** The image of web, worker, oauth and the Jobs. */
export const platformImage = imageOf(
  'platform',
  values.image,
  orElse(values.image.tag, builtIn('Chart.AppVersion')),
)

/** The version of the platform that is deployed: the tag, or a digest without one. */
export const platformVersion = helper(
  'platform.version',
  orElse(values.image.tag, orElse(values.image.digest, builtIn('Chart.AppVersion'))),
)

/** The image of the collector, which has a version of its own. */
export const collectorImage = imageOf('collector', values.collector.image)
/** The image of the chart's own PostgreSQL. */
export const postgresImage = imageOf('postgres', values.postgres.image)
/** The image of the sidecar to a managed database. */
export const dbProxyImage = imageOf('dbProxy', values.dbProxy.image)
/** The image of BuildKit. */
export const buildkitImage = imageOf('buildkit', values.buildkit.image)
/** The image of the internal registry. */
export const registryImage = imageOf('internalRegistry', values.internalRegistry.image)

/** The image with uv and Python that crews from source run in. */
export const pythonImage = imageOf('python', values.crews.pythonImage)

/** The fields of a container that say what it runs. */
export const runs = ({ reference, pullPolicy }: Image) => ({
  image: reference,
  imagePullPolicy: pullPolicy,
})

/** The pull secret of a pod with one image. */
export const pullSecretOf = ({ pullSecret }: Image) => [
  when<k8s.LocalObjectReference>(isSet(pullSecret), { name: pullSecret }),
]

const besideDatabase = helper(
  'platform.databasePullSecret',
  pick(
    values.dbProxy.enabled,
    dbProxyImage.pullSecret,
    pick(values.postgres.enabled, postgresImage.pullSecret, ''),
  ),
)

/**
 * The pull secrets of a pod that works on a database: its image's, and that of the proxy or of
 * PostgreSQL beside it.
 */
export const databasePodPullSecrets = ({ pullSecret }: Image) => [
  eachText<k8s.LocalObjectReference>(distinct(pullSecret, besideDatabase), (name) => ({ name })),
]
