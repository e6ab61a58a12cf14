import * as images from '../kit/image.ts'
import type { Image } from '../kit/image.ts'
import { evaluate, truthyIn } from '../template/expression.ts'
import type { Context, Val } from '../template/expression.ts'
import { values } from '../values.ts'

/**
 * An image of this repository: the target of the Dockerfile, and the reference under which the
 * chart runs it.
 */
export interface OwnImage {
  readonly target: 'platform' | 'collector'
  readonly reference: string
}

/**
 * An image of somebody else: where it is published, and the reference under which the chart runs
 * it.
 */
export interface ForeignImage {
  readonly source: string
  readonly reference: string
}

/** The images of a deployment. */
export interface ChartImages {
  readonly own: readonly OwnImage[]
  readonly foreign: readonly ForeignImage[]
}

const FOREIGN: readonly { readonly image: Image; readonly enabled: Val<boolean> }[] = [
  { image: images.postgresImage, enabled: values.postgres.enabled },
  { image: images.dbProxyImage, enabled: values.dbProxy.enabled },
  { image: images.buildkitImage, enabled: values.buildkit.enabled },
  { image: images.registryImage, enabled: values.internalRegistry.enabled },
  { image: images.pythonImage, enabled: values.crews.fromSource },
]

/** Publishers outside of Docker Hub, by the first component of the path. */
const PUBLISHERS: Readonly<Record<string, string>> = { 'cloud-sql-connectors': 'gcr.io' }

/** Every image that the chart runs in a context; `defaults` says where others publish theirs. */
export function imagesIn(context: Context, defaults: Context): ChartImages {
  const own: OwnImage[] = [
    { target: 'platform', reference: referenceIn(context, images.platformImage) },
  ]
  if (truthyIn(values.collector.enabled.expression, context))
    own.push({ target: 'collector', reference: referenceIn(context, images.collectorImage) })
  const foreign = FOREIGN.filter(({ enabled }) => truthyIn(enabled.expression, context)).map(
    ({ image }) => ({
      source: publishedAt(referenceIn(defaults, image)),
      reference: referenceIn(context, image),
    }),
  )
  return { own, foreign }
}

/** The reference with its registry and without a digest, which only a registry gives. */
function referenceIn(context: Context, image: Image): string {
  const found = evaluate(image.reference.expression, context)
  const reference = typeof found === 'string' ? found.replace(/@.*$/, '') : ''
  return /^(localhost|[^/]*[.:][^/]*)\//.test(reference)
    ? reference
    : `docker.io/${reference.includes('/') ? reference : `library/${reference}`}`
}

function publishedAt(reference: string): string {
  const [, path = '', publisher = ''] = /^docker\.io\/(([^/]+).*)$/.exec(reference) ?? []
  const host = PUBLISHERS[publisher]
  return host === undefined ? reference : `${host}/${path}`
}
