import { Chart } from 'cdk8s'
import type { App } from 'cdk8s'
import { IntOrString, KubeDeployment, KubeService } from 'cdk8s-plus-34/lib/imports/k8s.js'
import type {
  Container,
  EnvFromSource,
  EnvVar,
  KubeServiceProps,
} from 'cdk8s-plus-34/lib/imports/k8s.js'
import { Construct } from 'constructs'
import {
  all,
  exceeds,
  isSet,
  builtIn,
  digits,
  not,
  symbolicValues,
  text,
} from '../../../infra/template/operators.ts'
import type { Val } from '../../../infra/template/expression.ts'
import { helper } from '../../../infra/template/named.ts'
import { partWith } from '../../../infra/template/parts.ts'
import {
  decimal,
  nullable,
  boolean,
  group,
  integer,
  list,
  map,
  string,
} from '../../../infra/template/schema.ts'
import {
  create,
  createForEach,
  each,
  onlyWhen,
  spread,
  when,
  whenSet,
} from '../../../infra/template/structure.ts'

const ANY = { pattern: /^[ -~]*$/, expected: 'printable ASCII characters' }

/** The values of a chart for one web server. */
export const shape = {
  image: string('nginx:1.29', 'Image of the server.'),
  replicas: integer(1, 'Pods.', { min: 1, max: 100 }),
  labels: map('Labels of the pods.', { key: ANY, value: ANY }),
  cache: group('A cache beside the server.', {
    enabled: boolean(false, 'Run it.'),
    port: integer(6379, 'Its port.', { min: 1024, max: 65_535 }),
    directory: string('', 'Its working directory. Empty means that of the image.'),
    share: decimal(0.5, 'The share of the memory that it uses.', { min: 0.01, max: 1 }),
    idleSeconds: nullable(
      integer(60, 'After this time it forgets. Null means never.', { min: 1, max: 86_400 }),
    ),
  }),
  secrets: list(
    'Secrets whose keys become variables of the server.',
    { name: string('', 'Name of the Secret.') },
    { required: ['name'] },
  ),
  exposed: boolean(true, 'Give the server a Service.'),
  aliases: list(
    'More names under which others reach the server.',
    { name: string('', 'Name of the Service.') },
    { required: ['name'] },
  ),
}

const values = symbolicValues(shape)
const name = helper(
  { name: 'web.name', comment: 'The name of all objects.', isName: true },
  text`${builtIn('Release.Name')}-web`,
)
const selector = { app: name }
const { cache } = values

const portsAt = partWith(
  { name: 'web.ports', comment: 'The one port of a container.' },
  ({ port }: { port: Val<number> }) => [{ containerPort: port }],
)

/** One web server: a Deployment and a Service. */
export function build(app: App): Chart {
  const chart = new Chart(app, 'example')
  const web = new Construct(chart, 'web')
  create(web, KubeDeployment, {
    metadata: { name },
    spec: {
      replicas: values.replicas,
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: { ...selector, ...spread(values.labels) } },
        spec: {
          containers: [
            {
              name: 'server',
              image: values.image,
              envFrom: [
                each<{ name: string }, EnvFromSource>(values.secrets, (item) => ({
                  secretRef: { name: item('name') },
                })),
              ],
              env: [
                when<EnvVar>(cache.enabled, {
                  name: 'CACHE_PORT',
                  value: digits(cache.port),
                }),
                when<EnvVar>(cache.enabled, { name: 'CACHE_HOST', value: 'localhost' }),
                when<EnvVar>(cache.enabled, { name: 'CACHE_SHARE', value: digits(cache.share) }),
                when<EnvVar>(all(cache.enabled, exceeds(cache.share, 0.5)), {
                  name: 'CACHE_LARGE',
                  value: 'true',
                }),
                when<EnvVar>(all(cache.enabled, isSet(cache.idleSeconds)), {
                  name: 'CACHE_IDLE_SECONDS',
                  value: digits(cache.idleSeconds),
                }),
                when<EnvVar>(not(cache.enabled), { name: 'CACHE_OFF', value: 'true' }),
              ],
            },
            when<Container>(cache.enabled, {
              name: 'cache',
              image: 'valkey:8',
              ports: portsAt({ port: cache.port }),
              workingDir: whenSet(cache.directory),
            }),
          ],
        },
      },
    },
  })
  const exposed = onlyWhen(values.exposed, new Construct(web, 'exposed'))
  create(exposed, KubeService, {
    metadata: { name },
    spec: { selector, ports: [{ port: 80, targetPort: IntOrString.fromNumber(80) }] },
  })
  createForEach<{ name: string }, KubeServiceProps>(new Construct(exposed, 'alias'), KubeService, [
    values.aliases,
    (alias) => ({
      metadata: { name: alias('name'), labels: { ...selector, ...spread(values.labels) } },
      spec: {
        type: 'ExternalName',
        externalName: text`${name}.${builtIn('Release.Namespace')}.svc`,
      },
    }),
  ])
  return chart
}
