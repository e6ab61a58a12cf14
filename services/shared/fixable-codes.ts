/** The codes of the diagnostic report that `doctor --fix` can act on, in the order of fixing. */
export const FIXABLE_CODES = [
  'db_auth_failed',
  'tables_unreadable',
  'collector_database_down',
  'internal_org_missing',
  'tool_repository_missing',
  'agent_install_incomplete',
  'runner_install_incomplete',
  'crew_pods_unready',
  'deployments_unready',
  'rollout_stuck',
  'oauth_key_missing',
  'build_registry_refused',
  'buildkit_tls_failed',
  'queue_stalled',
] as const

/** A code that has a fix. */
export type FixableCode = (typeof FIXABLE_CODES)[number]

/** The sentence of a remedy about its fix, after a space; nothing for a code without one. */
export const fixSentence = (code: string): string =>
  FIXABLE_CODES.some((each) => each === code)
    ? ` \`doctor --fix --only ${code}\` shows what it would change, and asks.`
    : ''
