import { boolean, group, string } from '../template/schema.ts'
import * as type from '../value-types.ts'

const proxyAddress = (what: string) =>
  string(
    '',
    `Address of the proxy ${what}. Empty means none. One with a password belongs into a Secret, ` +
      'as the key `HTTP_PROXY` or `HTTPS_PROXY`, which `envFromSecrets` names.',
    {
      pattern: /^(https?:\/\/[A-Za-z0-9.:[\]-]+\/?)?$/,
      expected: 'an address such as "http://proxy.corp.example:3128", or ""',
    },
  )

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
    proxy: group(
      'The proxy through which web, worker, oauth, backups, builds and crews call addresses ' +
        'outside of the cluster. Databases and the Kubernetes API are never called through it.',
      {
        http: proxyAddress('for `http://` addresses'),
        https: proxyAddress('for `https://` addresses'),
        noProxy: string(
          '',
          'What is called without it, with commas between: names with all below them, addresses, ' +
            'and ranges such as those of pods and Services. The Services of the release, `.svc`, ' +
            '`.cluster.local`, the Kubernetes API and localhost always are.',
          {
            pattern: /^([A-Za-z0-9.*:/_[\]-]+(,[A-Za-z0-9.*:/_[\]-]+)*)?$/,
            expected: 'a list such as ".corp.example,10.0.0.0/8", or ""',
          },
        ),
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
