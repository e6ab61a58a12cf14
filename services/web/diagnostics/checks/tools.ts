import { hasPublicToolRepository, readOnly } from '../../../platform/diagnostics.ts'
import { combine, layerOf, oneFailure, onePassed } from '../layer.ts'
import type { Layer } from '../layer.ts'
import type { IsMounted } from '../mounted-routes.ts'
import { orAbort } from '../run-checks.ts'
import type { Check, CheckContext } from '../run-checks.ts'
import { databaseFailure } from './database.ts'

/** Deployed crews find their tool packages: the public repository is there, and so is the index that serves it. */
export function toolsCheck(isMounted: IsMounted): Check {
  return {
    timeoutCode: 'timeout',
    async run(context) {
      const index = isMounted('toolsIndex')
        ? onePassed('tools_index_route_mounted')
        : oneFailure('route_not_mounted', 'tools index route not mounted')
      return combine([await checkRepository(context), index])
    },
  }
}

async function checkRepository({ signal, sql }: CheckContext): Promise<Layer> {
  try {
    return (await orAbort(signal, readOnly(sql, hasPublicToolRepository)))
      ? onePassed('public_repository_provisioned')
      : oneFailure('tool_repository_missing', 'public tool repository not provisioned')
  } catch (thrown) {
    return layerOf(databaseFailure(thrown))
  }
}
