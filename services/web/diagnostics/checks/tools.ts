import { hasPublicToolRepository, readOnly } from '../../../platform/diagnostics.ts'
import { failed, passed } from '../findings.ts'
import type { IsMounted } from '../mounted-routes.ts'
import { orAbort } from '../run-checks.ts'
import type { Check } from '../run-checks.ts'
import { databaseFailure } from './database.ts'

/** Deployed crews find their tool packages: the public repository is there, and so is the index that serves it. */
export function toolsCheck(isMounted: IsMounted): Check {
  return {
    timeoutCode: 'timeout',
    async run({ signal, sql }) {
      try {
        if (!(await orAbort(signal, readOnly(sql, hasPublicToolRepository)))) {
          return failed('tool_repository_missing', 'public tool repository not provisioned')
        }
      } catch (thrown) {
        return databaseFailure(thrown)
      }
      if (!isMounted('toolsIndex')) {
        return failed('route_not_mounted', 'tools index route not mounted')
      }
      return passed({ checks: ['public_repository_provisioned', 'tools_index_route_mounted'] })
    },
  }
}
