import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { create } from './kit/create.ts'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import { all, isSet, sha256 } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import { when } from './template/structure.ts'
import { values } from './values.ts'

const { collector } = values
const { prices } = collector.config
const name = nameOf('collector-prices')
const FILE = 'prices.json'
const DIRECTORY = '/etc/prices'

/** The operator's own prices of models, as a file for the collector, the worker and web. */
export class CollectorPrices extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeConfigMap, {
      metadata: { name, labels: labels('collector') },
      data: { [FILE]: prices },
    })
  }
}

/** Holds when there are such prices. */
export const hasPrices = isSet(prices)

/** How a pod reads them, where it does. */
const pricesFileWhen = (isRead: Condition) => ({
  path: `${DIRECTORY}/${FILE}`,
  /** The file is read at the start only: other prices are other pods. */
  annotations: { 'checksum/prices': sha256(prices) },
  volume: when<k8s.Volume>(isRead, { name: 'prices', configMap: { name } }),
  mount: when<k8s.VolumeMount>(isRead, { name: 'prices', mountPath: DIRECTORY, readOnly: true }),
})

/** How the collector's pod reads them. */
export const pricesFile = pricesFileWhen(hasPrices)

/** Holds where the worker and web read them: they come with the collector. */
export const readsPrices = all(collector.enabled, hasPrices)

/** How the pods of the worker and of web read them. */
export const platformPrices = pricesFileWhen(readsPrices)
