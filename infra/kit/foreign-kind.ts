import { ApiObject } from 'cdk8s'
import type { ApiObjectMetadata } from 'cdk8s'
import type { Construct } from 'constructs'

/** A kind that Kubernetes itself does not have, as far as it is used here. */
export const foreignKind = <Props extends { readonly metadata: ApiObjectMetadata }>(
  apiVersion: string,
  kind: string,
) =>
  class extends ApiObject {
    static readonly GVK = { apiVersion, kind }

    constructor(scope: Construct, id: string, props: Props) {
      super(scope, id, { apiVersion, kind, ...props })
    }
  }
