import { also } from './also.ts'
import { releaseNamespace } from './create.ts'
import { setWhen } from './env.ts'
import { nameOf } from './names.ts'
import { helper } from '../template/named.ts'
import { all, any, isSet, text } from '../template/operators.ts'
import type { Condition } from '../template/operators.ts'
import { part } from '../template/parts.ts'
import { values } from '../values.ts'

const { proxy } = values.global
const { http, https, noProxy } = proxy

const isBehindProxy = any(isSet(http), isSet(https), isSet(noProxy))

/** The programs that others call by HTTP, from the namespace of the release or from another one. */
const CALLED = ['web', 'worker', 'oauth', 'collector', 'internal-registry', 'buildkit']

const services = CALLED.reduce(
  (list, component) => text`${list},${nameOf(component)},${nameOf(component)}.${releaseNamespace}`,
  text`localhost,127.0.0.1,::1,$(KUBERNETES_SERVICE_HOST),.svc,.cluster.local`,
)

/**
 * What is called directly: the pod itself, the Kubernetes API, the Services of the cluster, and
 * what the operator lists. The kubelet fills in the address of the API.
 */
const exempt = helper(
  {
    name: 'platform.noProxy',
    comment:
      'What is called without the proxy: the pod itself, the API of Kubernetes, the Services of ' +
      'the platform by both of their names, and what global.proxy.noProxy lists.',
  },
  text`${services}${also(isSet(noProxy), noProxy)}`,
)

/** The variables of our programs that call addresses outside of the cluster. */
export const proxyEnv = part(
  { name: 'platform.proxyEnv', comment: 'The proxy for addresses outside of the cluster.' },
  () => ({
    HTTP_PROXY: setWhen(isSet(http), http),
    HTTPS_PROXY: setWhen(isSet(https), https),
    NO_PROXY: setWhen(isBehindProxy, exempt),
  }),
)

/** The same while a condition holds. */
export const proxyEnvWhile = (condition: Condition) => ({
  HTTP_PROXY: setWhen(all(condition, isSet(http)), http),
  HTTPS_PROXY: setWhen(all(condition, isSet(https)), https),
  NO_PROXY: setWhen(all(condition, isBehindProxy), exempt),
})
