import type { ApiObjectMetadata } from 'cdk8s'
import * as k8s from './k8s.ts'
import { Construct } from 'constructs'
import { labels } from './kit/labels.ts'
import { nameOf } from './kit/names.ts'
import type { Val } from './template/expression.ts'
import { all, isSet } from './template/operators.ts'
import { create } from './kit/create.ts'
import { items } from './template/given.ts'
import { eachText, onlyWhen, spread, when, whenSet } from './template/structure.ts'
import type { Exactly } from './template/structure.ts'
import { values } from './values.ts'
import { foreignKind } from './kit/foreign-kind.ts'

const { httpRoute, ingress, oauth, web } = values

/** The ways in: an Ingress, or HTTPRoutes of the Gateway API. */
export class Routes extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    onlyWhen(ingress.enabled, new IngressRules(this, 'hosts'))
    onlyWhen(
      httpRoute.enabled,
      new Route(this, 'web', {
        hostnames: [
          whenSet(httpRoute.host),
          eachText<string>(httpRoute.extraHosts, (host) => host),
        ],
        port: web.servicePort,
      }),
    )
    onlyWhen(
      all(httpRoute.enabled, oauth.enabled, isSet(httpRoute.oauthHost)),
      new Route(this, 'oauth', { hostnames: [httpRoute.oauthHost], port: oauth.port }),
    )
  }
}

class IngressRules extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id)
    create(this, k8s.KubeIngress, {
      metadata: {
        name: nameOf('web'),
        labels: labels('web'),
        annotations: spread(ingress.annotations),
      },
      spec: {
        ingressClassName: whenSet(ingress.className),
        tls: [
          when<k8s.IngressTls>(isSet(ingress.tlsSecret), tls),
          items<k8s.IngressTls>(ingress.extraTls),
        ],
        rules: [
          { host: whenSet(ingress.host), http: everything('web') },
          eachText<k8s.IngressRule>(ingress.extraHosts, (host) => ({
            host,
            http: everything('web'),
          })),
          when<k8s.IngressRule>(all(oauth.enabled, isSet(ingress.oauthHost)), {
            host: ingress.oauthHost,
            http: everything('oauth'),
          }),
        ],
      },
    })
  }
}

const everything = (component: string) => ({
  paths: [
    {
      path: '/',
      pathType: 'Prefix',
      backend: { service: { name: nameOf(component), port: { name: 'http' } } },
    },
  ],
})

const tls = {
  secretName: ingress.tlsSecret,
  hosts: [
    whenSet(ingress.host),
    eachText<string>(ingress.extraHosts, (host) => host),
    whenSet(ingress.oauthHost),
  ],
}

/** `HTTPRoute` of the Gateway API, as far as it is used here. */
const HttpRoute = foreignKind<HttpRouteProps>('gateway.networking.k8s.io/v1', 'HTTPRoute')

interface HttpRouteProps {
  readonly metadata: ApiObjectMetadata
  readonly spec: {
    readonly parentRefs: readonly { readonly name: string; readonly namespace?: string }[]
    readonly hostnames?: readonly string[]
    readonly rules: readonly {
      readonly backendRefs: readonly { readonly name: string; readonly port: number }[]
    }[]
  }
}

class Route extends Construct {
  constructor(
    scope: Construct,
    component: string,
    { hostnames, port }: { hostnames: Exactly<readonly string[]>; port: Val<number> },
  ) {
    super(scope, component)
    create(this, HttpRoute, {
      metadata: { name: nameOf(component), labels: labels(component) },
      spec: {
        parentRefs: [{ name: httpRoute.gateway, namespace: whenSet(httpRoute.gatewayNamespace) }],
        hostnames,
        rules: [{ backendRefs: [{ name: nameOf(component), port }] }],
      },
    })
  }
}
