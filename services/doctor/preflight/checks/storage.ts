import * as v from 'valibot'
import type { PreflightContext } from '../context.ts'
import { failed, passed, skipped } from '../result.ts'
import type { Result } from '../result.ts'
import { unreachable } from './cluster.ts'

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

const storageClasses = v.object({
  items: v.array(
    v.object({
      metadata: v.object({
        name: v.string(),
        annotations: v.optional(v.record(v.string(), v.string()), {}),
      }),
    }),
  ),
})

/** The StorageClasses of the volumes exist, or the cluster has a default one. */
export async function checkStorage({ cluster, installation }: PreflightContext): Promise<Result> {
  const wanted = [...new Set(installation.storageClasses)]
  if (wanted.length === 0) return skipped('no part of the installation has a volume')
  const { call } = await cluster()
  const result = await call({
    method: 'GET',
    path: '/apis/storage.k8s.io/v1/storageclasses?limit=500',
  })
  if ('failure' in result) {
    return result.failure.status === 403
      ? skipped('your account may not list StorageClasses')
      : unreachable(result.failure)
  }
  const parsed = v.safeParse(storageClasses, result.object)
  if (!parsed.success) return failed('cluster_unreachable', 'what answers is no API server')
  const { items } = parsed.output
  const names = items.map(({ metadata }) => metadata.name)
  const standard = items.find(({ metadata }) => metadata.annotations[DEFAULT_CLASS] === 'true')
  const details = {
    storage_classes: names,
    ...(standard ? { default: standard.metadata.name } : {}),
  }
  const missing = wanted.filter((name) => (name === '' ? !standard : !names.includes(name)))
  if (missing.length === 0) return passed(['storage_class_exists'], details)
  const reasons = missing.map((name) =>
    name === '' ? 'there is no default StorageClass' : `there is no StorageClass "${name}"`,
  )
  return failed('storage_class_missing', reasons.join('; '), { details })
}
