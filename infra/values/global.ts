import { boolean, group } from '../template/schema.ts'
import * as type from '../value-types.ts'

/** What holds for all components, and what a parent chart may set for all of its charts. */
export const global = {
  ...group('Settings for all components.', {
    image: group('Where every image comes from.', {
      registry: type.registry('Registry host of all images whose own `host` is empty.'),
      namePrefixOverride: type.imagePath(
        '',
        'Replaces the path of every image up to its last component, for mirrors that keep ' +
          'all images in one place.',
      ),
      pullSecret: type.objectName('Pull secret of all images whose own `pullSecret` is empty.'),
    }),
    caBundle: group(
      'Certificate authorities of your own, in PEM, which every program of the platform ' +
        'trusts beside the public ones: for databases, identity providers, models and ' +
        'proxies.',
      {
        secret: type.objectName('Secret that holds them. Empty means none.'),
        configMap: type.objectName('ConfigMap that holds them, instead of a Secret.'),
        key: type.dataKey('ca.crt', 'Key in the Secret or ConfigMap.'),
      },
    ),
    openshift: boolean(
      false,
      'Name no user and no group in any pod, crews included, so that the security context ' +
        'constraints of OpenShift (`restricted-v2`) assign them. Needs `buildkit.enabled: ' +
        'false`.',
    ),
  }),
  open: true,
} as const
