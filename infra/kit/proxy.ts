import type * as k8s from '../k8s.ts'
import { also } from './also.ts'
import { releaseNamespace } from './create.ts'
import { setWhen } from './env.ts'
import { nameOf } from './names.ts'
import { any, helper, isSet, text } from '../template/operators.ts'
import { when } from '../template/structure.ts'
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
const exempt = helper('platform.noProxy', text`${services}${also(isSet(noProxy), noProxy)}`)

/** The variables of our programs that call addresses outside of the cluster. */
export const proxyEnv = {
  HTTP_PROXY: setWhen(isSet(http), http),
  HTTPS_PROXY: setWhen(isSet(https), https),
  NO_PROXY: setWhen(isBehindProxy, exempt),
}

/** The same variables for a program of others. */
export const proxyVariables = [
  when<k8s.EnvVar>(isSet(http), { name: 'HTTP_PROXY', value: http }),
  when<k8s.EnvVar>(isSet(https), { name: 'HTTPS_PROXY', value: https }),
  when<k8s.EnvVar>(isBehindProxy, { name: 'NO_PROXY', value: exempt }),
]
