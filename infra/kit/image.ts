import type * as k8s from '../k8s.ts'
import type { Val } from '../template/expression.ts'
import {
  base,
  builtIn,
  distinct,
  isSet,
  orElse,
  pick,
  text,
  trimSuffix,
} from '../template/operators.ts'
import type { Symbolic } from '../template/operators.ts'
import { helper, helperWith } from '../template/named.ts'
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
const imageOf = (image: ImageValues): Image => ({
  reference: reference({ image }),
  pullPolicy: image.pullPolicy,
  pullSecret: pullSecret({ image }),
})

type ImageValues = Symbolic<Values['image']>

const path = helperWith(
  {
    name: 'platform.imagePath',
    comment: 'The path of an image: its own, or the global prefix before its last component.',
  },
  ({ image }: { image: ImageValues }) => {
    const { namePrefixOverride: prefix } = global.image
    return pick(isSet(prefix), text`${prefix}/${base(image.name)}`, image.name)
  },
)

const version = helperWith(
  {
    name: 'platform.imageVersion',
    comment:
      'The tag of an image, with its digest where it has one. Only the image of the platform may ' +
      'be without a tag, which then is its version.',
  },
  ({ image: { digest, ...image } }: { image: ImageValues }) => {
    const tag = orElse(image.tag, builtIn('Chart.AppVersion'))
    return pick(isSet(digest), text`${tag}@${digest}`, tag)
  },
)

const reference = helperWith(
  {
    name: 'platform.image',
    comment:
      'The reference of an image, on its own host, the global registry, or that of the node.',
  },
  ({ image }: { image: ImageValues }) => {
    const host = orElse(image.host, global.image.registry)
    const onHost = text`${path({ image })}:${version({ image })}`
    return pick(isSet(host), text`${trimSuffix('/', host)}/${onHost}`, onHost)
  },
)

const pullSecret = helperWith(
  { name: 'platform.pullSecret', comment: 'The pull secret of an image, or the global one.' },
  ({ image }: { image: ImageValues }) => orElse(image.pullSecret, global.image.pullSecret),
)

/** The image of web, worker, oauth and the Jobs. */
export const platformImage = imageOf(values.image)

/** The version of the platform that is deployed: the tag, or a digest without one. */
export const platformVersion = helper(
  {
    name: 'platform.version',
    comment: 'The version that is deployed: the tag, or a digest without one.',
  },
  orElse(values.image.tag, orElse(values.image.digest, builtIn('Chart.AppVersion'))),
)

/** The image of the collector, which has a version of its own. */
export const collectorImage = imageOf(values.collector.image)
/** The image of the chart's own PostgreSQL. */
export const postgresImage = imageOf(values.postgres.image)
/** The image of the sidecar to a managed database. */
export const dbProxyImage = imageOf(values.dbProxy.image)
/** The image of BuildKit. */
export const buildkitImage = imageOf(values.buildkit.image)
/** The image of the internal registry. */
export const registryImage = imageOf(values.internalRegistry.image)

/** The image with uv and Python that crews from source run in. */
export const pythonImage = imageOf(values.crews.pythonImage)

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
  {
    name: 'platform.databasePullSecret',
    comment: 'The pull secret of what stands between a pod and its database, or nothing.',
  },
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
