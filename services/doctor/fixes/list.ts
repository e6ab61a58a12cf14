import { AppError } from '../../shared/errors.ts'
import type { FixableCode } from '../../shared/fixable-codes.ts'
import { chart, crews, restart, wake } from './deployments.ts'
import type { Plan } from './fix.ts'
import { grantMissing } from './grants.ts'
import { runAgain } from './jobs.ts'
import { takeBackRollouts } from './rollouts.ts'

/** The changes of the first plan, or where it has none those of the second one. */
const orElse =
  (first: Plan, second: Plan): Plan =>
  (context) =>
    first(context).catch((thrown: unknown) => {
      if (thrown instanceof AppError && thrown.code !== 'forbidden') return second(context)
      throw thrown
    })

/**
 * The fix of each code. A plan has the changes, each of which applies itself and takes itself back;
 * what verifies them is the check that found the code.
 */
export const FIXES: Readonly<Record<FixableCode, Plan>> = {
  // Where the right is there, pods may run with a password of before.
  db_auth_failed: orElse(
    grantMissing('main', 'DATABASE'),
    restart(chart('web', 'worker', 'oauth')),
  ),
  tables_unreadable: grantMissing('main', 'SCHEMA', 'TABLE', 'SEQUENCE'),
  collector_database_down: grantMissing('traces', 'DATABASE', 'SCHEMA', 'TABLE', 'SEQUENCE'),
  internal_org_missing: runAgain('setup'),
  tool_repository_missing: runAgain('setup'),
  agent_install_incomplete: runAgain('crews'),
  runner_install_incomplete: runAgain('crews'),
  // Neither at zero nor there: the Job makes it.
  crew_pods_unready: orElse(wake(crews), runAgain('crews')),
  deployments_unready: wake(chart()),
  rollout_stuck: takeBackRollouts(chart()),
  oauth_key_missing: restart(chart('web')),
  build_registry_refused: restart(chart('internal-registry', 'worker')),
  buildkit_tls_failed: restart(chart('buildkit')),
  queue_stalled: wake(chart('worker')),
}
