import type { Manifest } from './platform.ts'

/** The fields of an object that Kubernetes refuses to change once it is there. */
function immutableParts({ kind, spec, type, roleRef }: Manifest): unknown {
  switch (kind) {
    case 'Deployment':
      return { selector: spec.selector }
    case 'StatefulSet':
      return {
        selector: spec.selector,
        serviceName: spec.serviceName,
        podManagementPolicy: spec.podManagementPolicy ?? 'OrderedReady',
        volumeClaimTemplates: spec.volumeClaimTemplates.map(withoutDefaults),
      }
    case 'Service':
      return { isHeadless: spec.clusterIP === 'None' }
    case 'PersistentVolumeClaim':
      return { spec }
    case 'Job':
      return { template: spec.template }
    case 'RoleBinding':
      return { roleRef }
    case 'Secret':
      return { type }
    default:
      return undefined
  }
}

/**
 * A claim without what the server completes, so that one that says it is the same as one that does
 * not.
 */
function withoutDefaults({ metadata, spec }: Manifest): unknown {
  const { volumeMode: _, ...chosen } = spec
  return { metadata, spec: chosen }
}

/** What an upgrade may not touch, by object. */
export const identitiesOf = (objects: readonly Manifest[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    objects
      .map((object) => [`${object.kind} ${object.metadata.name}`, immutableParts(object)] as const)
      .filter(([, parts]) => parts !== undefined),
  )
