import { amounts } from './amounts.ts'
import { hasIdentityProvider } from './identity-provider.ts'
import { ownNames } from './own-names.ts'
import { releaseNamespace } from './kit/create.ts'
import { isReferenced, SECRET_KEYS } from './kit/secret-keys.ts'
import { release } from './kit/names.ts'
import { scalingRules } from './scaling-rules.ts'
import { all, equals, exceeds, isSet, matches, not, orElse } from './template/operators.ts'
import type { Condition } from './template/operators.ts'
import type { Val } from './template/expression.ts'
import type { Rule } from './template/rules.ts'
import { values } from './values.ts'

const {
  auth,
  backup,
  buildkit,
  collector,
  crews,
  dbProxy,
  envVars,
  global,
  httpRoute,
  image,
  ingress,
  oauth,
  postgres,
  secrets,
  web,
  worker,
} = values

const refuse = (message: string, ...conditions: readonly Condition[]): Rule => ({
  refuse: all(...conditions),
  message,
})

type Named = readonly [path: string, value: Val<unknown>]

/** Refuses a value without another one that it needs. */
const needs = ([path, value]: Named, [needed, other]: Named): Rule =>
  refuse(`${needed} is required with ${path}`, isSet(value), not(isSet(other)))

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

const grpcPort: Ports[number] = ['collector.grpc.port', collector.grpc.port]
const grpcPorts: Ports = [
  ['collector.port', collector.port],
  ['collector.metricsPort', collector.metricsPort],
]

/** The combinations of values that make no sense together. */
export const rules: readonly Rule[] = [
  refuse(
    'The release name must be a letter followed by up to 52 lower-case letters, digits and ' +
      'dashes, unless fullnameOverride is set',
    not(isSet(values.fullnameOverride)),
    not(matches('^[a-z]([-a-z0-9]{0,51}[a-z0-9])?$', release)),
  ),
  refuse(
    'backup.passphraseSecret is required while backup.enabled is true',
    backup.enabled,
    not(isSet(backup.passphraseSecret)),
  ),
  refuse(
    'upgrade.proofKey is required while upgrade.requireProof is true',
    values.upgrade.requireProof,
    not(isSet(values.upgrade.proofKey)),
  ),
  needs(['backup.s3.bucket', backup.s3.bucket], ['backup.s3.endpoint', backup.s3.endpoint]),
  needs(
    ['backup.s3.bucket', backup.s3.bucket],
    ['backup.s3.credentialsSecret', backup.s3.credentialsSecret],
  ),
  refuse(
    'collector.archive.enabled needs a place: backup.s3.bucket or collector.archive.existingClaim',
    collector.archive.enabled,
    not(isSet(backup.s3.bucket)),
    not(isSet(collector.archive.existingClaim)),
  ),
  refuse(
    'collector.archive.enabled is not for traces on Citus',
    collector.archive.enabled,
    collector.citus.distribute,
  ),
  refuse(
    'The namespace of the release is longer than 57 characters: set crews.namespace',
    not(isSet(crews.namespace)),
    matches('^.{58,}$', releaseNamespace),
  ),
  ...differ([
    ['collector.port', collector.port],
    ['collector.metricsPort', collector.metricsPort],
  ]),
  ...grpcPorts.flatMap((other) => differ([other, grpcPort], collector.grpc.enabled)),
  ...differ([
    ['web.port', web.port],
    ['web.metricsPort', web.metricsPort],
  ]),
  ...differ([
    ['oauth.port', oauth.port],
    ['oauth.metricsPort', oauth.metricsPort],
  ]),
  ...differ(sidecarPorts, dbProxy.enabled),
  ...besideSidecar([
    ['collector.port', collector.port],
    ['collector.metricsPort', collector.metricsPort],
    grpcPort,
    ['web.port', web.port],
    ['web.metricsPort', web.metricsPort],
    ['worker.port', worker.port],
    ['oauth.port', oauth.port],
    ['oauth.metricsPort', oauth.metricsPort],
  ]),
  ...scalingRules,
  refuse(
    'podMonitor.enabled and serviceMonitor.enabled exclude each other: all would be read twice',
    values.podMonitor.enabled,
    values.serviceMonitor.enabled,
  ),
  ...amounts,
  ...ownNames,
  refuse(
    'auth.passwords must be on while auth.provider is local: no one could sign in',
    not(hasIdentityProvider),
    equals(auth.passwords, 'off'),
  ),
  refuse(
    'auth.issuerUrl is required unless auth.provider is local',
    hasIdentityProvider,
    not(isSet(auth.issuerUrl)),
  ),
  refuse(
    'auth.clientId is required unless auth.provider is local',
    hasIdentityProvider,
    not(isSet(auth.clientId)),
  ),
  refuse(
    'secrets.OIDC_CLIENT_SECRET or secretKeyRefs.OIDC_CLIENT_SECRET.name or ' +
      'secrets.existingSecret is required unless auth.provider is local',
    hasIdentityProvider,
    not(isSet(secrets.OIDC_CLIENT_SECRET)),
    not(isSet(secrets.existingSecret)),
    not(isReferenced('OIDC_CLIENT_SECRET')),
  ),
  needs(['auth.groupsClaim', auth.groupsClaim], ['auth.groups', auth.groups]),
  needs(['auth.groups', auth.groups], ['auth.groupsClaim', auth.groupsClaim]),
  needs(['auth.adminClaim', auth.adminClaim], ['auth.adminValue', auth.adminValue]),
  needs(['auth.adminValue', auth.adminValue], ['auth.adminClaim', auth.adminClaim]),
  ...Object.entries({ ingress, httpRoute }).map(([way, { enabled, host, oauthHost }]) =>
    refuse(
      `${way}.oauthHost must differ from ${way}.host: oauth answers at the root of a host of ` +
        'its own',
      enabled,
      isSet(oauthHost),
      equals(oauthHost, host),
    ),
  ),
  ...Object.entries({ ingress, httpRoute }).map(([way, { host, extraHosts }]) =>
    needs([`${way}.extraHosts`, extraHosts], [`${way}.host`, host]),
  ),
  refuse(
    'httpRoute.gateway is required while httpRoute.enabled is true',
    httpRoute.enabled,
    not(isSet(httpRoute.gateway)),
  ),
  refuse(
    'postgres.collectorDatabase must differ from envVars.DB_NAME: the collector never uses ' +
      'the main database',
    equals(postgres.collectorDatabase, envVars.DB_NAME),
    not(isSet(collector.database.host)),
  ),
  refuse(
    'collector.database must not be the main database: name another host, port or database',
    isSet(collector.database.host),
    equals(collector.database.host, envVars.DB_HOST),
    equals(collector.database.port, envVars.DB_PORT),
    equals(orElse(collector.database.name, postgres.collectorDatabase), envVars.DB_NAME),
    not(postgres.enabled),
  ),
  refuse(
    'global.openshift needs buildkit.enabled: false: rootless builds need user 1000 and ' +
      'more rights than restricted-v2 grants',
    global.openshift,
    buildkit.enabled,
  ),
  refuse(
    'global.caBundle.secret and global.caBundle.configMap exclude each other',
    isSet(global.caBundle.secret),
    isSet(global.caBundle.configMap),
  ),
  refuse(
    'image.tag must be 1.12 or later while collector.enabled is true: earlier versions of ' +
      'the platform send no traces',
    collector.enabled,
    matches('^v?(0[.][0-9]+|1[.]([0-9]|1[01]))([^0-9].*)?$', image.tag),
  ),
  needs(
    ['collector.database.host', collector.database.host],
    ['collector.database.passwordSecret', collector.database.passwordSecret],
  ),
  refuse(
    'collector.database.host needs dbProxy.enabled: false: the proxy leads to one server for all',
    isSet(collector.database.host),
    dbProxy.enabled,
  ),
  refuse(
    'dbProxy.enabled needs postgres.enabled: false: the proxy is for a managed database',
    dbProxy.enabled,
    postgres.enabled,
  ),
  refuse(
    'envVars.DB_PORT must be 1024 or more while dbProxy.enabled is true: the sidecar listens there',
    dbProxy.enabled,
    not(exceeds(envVars.DB_PORT, 1023)),
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
    'secrets.DB_PASSWORD or secretKeyRefs.DB_PASSWORD.name or secrets.existingSecret is required ' +
      'while postgres.enabled and dbProxy.autoIamAuthn are false',
    not(postgres.enabled),
    not(dbProxy.autoIamAuthn),
    not(isSet(secrets.DB_PASSWORD)),
    not(isSet(secrets.existingSecret)),
    not(isReferenced('DB_PASSWORD')),
  ),
  ...SECRET_KEYS.flatMap((key) => [
    refuse(
      `secrets.${key} and secretKeyRefs.${key}.name exclude each other`,
      isSet(secrets[key]),
      isReferenced(key),
    ),
    refuse(
      `secretKeyRefs.${key}.name is required with secretKeyRefs.${key}.key`,
      not(equals(values.secretKeyRefs[key].key, key)),
      not(isReferenced(key)),
    ),
  ]),
]
