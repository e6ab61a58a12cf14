import { release } from './kit/names.ts'
import { all, equals, exceeds, isSet, matches, not } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import type { Val } from './template/expression.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'

const { collector, dbProxy, envVars, httpRoute, ingress, oauth, postgres, secrets, web, worker } =
  values

const refuse = (message: string, ...conditions: readonly Condition[]): Rule => ({
  refuse: all(...conditions),
  message,
})

type Ports = readonly (readonly [key: string, port: Val<number>])[]

/** Containers of one pod share their ports. */
const differ = (ports: Ports, ...condition: readonly Condition[]): readonly Rule[] =>
  ports.flatMap(([key, port], index) =>
    ports
      .slice(0, index)
      .map(([other, taken]) =>
        refuse(`${key} must differ from ${other}`, ...condition, equals(port, taken)),
      ),
  )

const sidecarPorts: Ports = [
  ['envVars.DB_PORT', envVars.DB_PORT],
  ['dbProxy.healthPort', dbProxy.healthPort],
]

const besideSidecar = (ports: Ports): readonly Rule[] =>
  ports.flatMap(([key, port]) =>
    sidecarPorts.map(([taken, sidecarPort]) =>
      refuse(
        `${key} must differ from ${taken} while dbProxy.enabled is true`,
        dbProxy.enabled,
        equals(port, sidecarPort),
      ),
    ),
  )

/** The combinations of values that make no sense together. */
export const rules: readonly Rule[] = [
  refuse(
    'The release name must be a letter followed by up to 39 lower-case letters, digits and dashes',
    not(matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$', release)),
  ),
  ...differ([
    ['collector.port', collector.port],
    ['collector.metricsPort', collector.metricsPort],
  ]),
  ...differ(sidecarPorts, dbProxy.enabled),
  ...besideSidecar([
    ['collector.port', collector.port],
    ['collector.metricsPort', collector.metricsPort],
    ['web.port', web.port],
    ['worker.port', worker.port],
    ['oauth.port', oauth.port],
  ]),
  ...Object.entries({ web, worker, oauth, collector }).map(([component, { autoscaling }]) =>
    refuse(
      `${component}.autoscaling.minReplicas must not exceed ${component}.autoscaling.maxReplicas`,
      autoscaling.enabled,
      exceeds(autoscaling.minReplicas, autoscaling.maxReplicas),
    ),
  ),
  refuse(
    'ingress.oauthHost must differ from ingress.host: oauth answers at the root of a host of its own',
    ingress.enabled,
    isSet(ingress.oauthHost),
    equals(ingress.oauthHost, ingress.host),
  ),
  refuse(
    'httpRoute.oauthHost must differ from httpRoute.host: oauth answers at the root of a host of its own',
    httpRoute.enabled,
    isSet(httpRoute.oauthHost),
    equals(httpRoute.oauthHost, httpRoute.host),
  ),
  refuse(
    'httpRoute.gateway is required while httpRoute.enabled is true',
    httpRoute.enabled,
    not(isSet(httpRoute.gateway)),
  ),
  refuse(
    'postgres.collectorDatabase must differ from envVars.DB_NAME: the collector never uses the main database',
    equals(postgres.collectorDatabase, envVars.DB_NAME),
  ),
  refuse(
    'dbProxy.enabled needs postgres.enabled: false: the proxy is for a managed database',
    dbProxy.enabled,
    postgres.enabled,
  ),
  refuse(
    'dbProxy.instanceConnectionName is required while dbProxy.enabled is true',
    dbProxy.enabled,
    not(isSet(dbProxy.instanceConnectionName)),
  ),
  refuse(
    'dbProxy.autoIamAuthn needs dbProxy.enabled: true: it is the proxy that injects the token',
    dbProxy.autoIamAuthn,
    not(dbProxy.enabled),
  ),
  refuse(
    'envVars.DB_HOST is required while postgres.enabled and dbProxy.enabled are false',
    not(postgres.enabled),
    not(dbProxy.enabled),
    not(isSet(envVars.DB_HOST)),
  ),
  refuse(
    'secrets.DB_PASSWORD or secrets.existingSecret is required while postgres.enabled and dbProxy.autoIamAuthn are false',
    not(postgres.enabled),
    not(dbProxy.autoIamAuthn),
    not(isSet(secrets.DB_PASSWORD)),
    not(isSet(secrets.existingSecret)),
  ),
]
